"""PDF files for tests, written by hand."""

from textwrap import wrap


def pdf(
    *pages: str,
    link: str = "",
    info: str = "",
    catalog: str = "",
    action: str = "",
    objects_behind: tuple[str, ...] = (),
) -> bytes:
    """Return a PDF with some text on each of its *pages*; on each there is a *link*.

    An *action* replaces that of the link. *objects_behind* have the numbers from 7 on, if there is
    one page.
    """
    action = action or (f"/S/URI/URI({link})" if link else "")
    annotation = f"<</Type/Annot/Subtype/Link/Rect[0 0 99 99]/A<<{action}>>>>" if action else ""
    kids = " ".join(f"{5 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        f"<</Type/Catalog/Pages 2 0 R{catalog}>>",
        f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        f"<<{info}>>",
    ]
    for number, text in enumerate(pages):
        lines = wrap(text, 80)
        height = 100 + 14 * len(lines)
        drawn = "".join(f"({line}) Tj T* " for line in lines)
        drawn = f"BT /F1 10 Tf 12 TL 50 {height - 50} Td {drawn} ET"
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 {height}]/Contents {6 + 2 * number} 0 R"
            f"/Resources<</Font<</F1 3 0 R>>>>/Annots[{annotation}]>>",
            f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream",
        ]
    objects += objects_behind
    body, offsets = b"%PDF-1.7\n", list[int]()
    for number, written in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{written}\nendobj\n".encode("latin-1")
    table = "".join(f"{at:010} 00000 n \n" for at in offsets)
    size = len(objects) + 1
    return (
        body
        + f"xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer<</Size {size}/Root 1 0 R/Info 4 0 R>>\nstartxref\n{len(body)}\n%%EOF".encode()
    )

// Draws the diagrams with Mermaid, which `scripts/docs` adds to the site. Without it they stay text.
if (window.mermaid) {
  const scheme = document.body.getAttribute("data-md-color-scheme");
  mermaid.initialize({ startOnLoad: false, theme: scheme === "slate" ? "dark" : "neutral" });
  for (const diagram of document.querySelectorAll("pre.diagram")) {
    diagram.textContent = diagram.textContent; // Without the element `code` around it.
  }
  mermaid.run({ querySelector: "pre.diagram" });
}

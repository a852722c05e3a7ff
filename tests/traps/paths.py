"""Traps of paths: growing paths, relative links that loop, and forced session ids."""

import hashlib
import re
from typing import ClassVar

from tests.synthweb.answers import Answer

from . import words
from .page import Link, Page
from .site import Plan, Site


class RepeatedBlocks(Site):
    """Folders that contain each other in turn: each page shows its path, and links to the next
    folder with a relative link."""

    folders: ClassVar[tuple[tuple[str, ...], ...]] = tuple(
        tuple(words.NOUNS[at : at + 3]) for at in range(0, 36, 3)
    )

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        page.footer += [Link(f"/tree/{names[0]}/", names[0]) for names in self.folders]

    def trap(self, host: str, target: str) -> Answer:
        root, *parts = target.strip("/").split("/")
        if root != "tree" or not parts or not (following := self.following(parts[-1])):
            return super().trap(host, target)
        page = self.framed(host, target, "Folder", [f"The contents of {' / '.join(parts)}."])
        page.lists = [Link(f"{name}/", name) for name in following]
        return page.answer()

    def following(self, folder: str) -> list[str]:
        """Return the folders to which a page of *folder* links."""
        return [
            names[(names.index(folder) + 1) % len(names)]
            for names in self.folders
            if folder in names
        ]


class GrowingPaths(RepeatedBlocks):
    """Pairs of folders that contain each other, and the first folder of the next pair."""

    folders = (("a", "b"), ("old", "new"), ("north", "south"), ("in", "out"))

    def following(self, folder: str) -> list[str]:
        pairs = [number for number, names in enumerate(self.folders) if folder in names]
        nexts = [self.folders[(number + 1) % len(self.folders)][0] for number in pairs]
        return [*super().following(folder), *nexts]


class RelativeLoop(Site):
    """Pages link to other pages with relative links that should begin at the root. The server
    ignores folders that it does not know, so that each link finds a page."""

    def page_of(self, host: str, target: str) -> str | None:
        if host != self.name:
            return None
        parts = target.split("/")
        ends = ("/" + "/".join(parts[at:]) for at in range(1, len(parts)))
        return next((end for end in ends if end in self.honest and end != "/"), None) or (
            target if target == "/" else None
        )

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        paths = [to for to in self.paths if to.count("/") == 2]
        chosen = self.rng("relative", path).sample(paths, min(3, len(paths)))
        page.footer += [Link(to.removeprefix("/"), self.headline(to)) for to in chosen]


class Sessions(Site):
    """Each link contains a session id, which is new at each visit."""

    parameter = "PHPSESSID"

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._sessions = 0

    def page_of(self, host: str, target: str) -> str | None:
        path = self.without_id(target)
        return path if host == self.name and path in self.honest else None

    def page(self, host: str, target: str, path: str) -> Page:
        self._sessions += 1
        digest = hashlib.md5(f"{self.seed}/{self.name}/{self._sessions}".encode())
        return super().page(host, self.with_id(path, digest.hexdigest()), path)

    def href(self, host: str, here: str, to: str) -> str:
        return self.with_id(to, self.id_of(here))

    def id_of(self, target: str) -> str:
        return target.rpartition("=")[2]

    def with_id(self, path: str, session: str) -> str:
        return f"{path}?{self.parameter}={session}"

    def without_id(self, target: str) -> str:
        return re.sub(rf"\?{self.parameter}=[0-9a-f]{{32}}$", "", target)


class UnknownSessions(Sessions):
    """The parameter has a name that no list of session ids has."""

    parameter = "zk"


class PathSessions(Sessions):
    """The session id is the first folder of the path."""

    def id_of(self, target: str) -> str:
        return target.split("/")[1].removeprefix("s-")

    def with_id(self, path: str, session: str) -> str:
        return f"/s-{session}{path}"

    def without_id(self, target: str) -> str:
        return re.sub(r"^/s-[0-9a-f]{32}/", "/", target)

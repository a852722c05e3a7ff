"""A crawl whose WARC files go to a store in S3, which is down at first."""

from pathlib import Path

import fsspec
import pytest

from tests.object_store import object_store
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .assertions import assert_archived
from .crawl import Crawl, ask

SMALL = World.plain(seed=4, hosts=5, pages=3)


KILLED, WAITING = "killed", "captures"  # The buckets of one process are in one memory.
OPTIONS = {"skip_instance_cache": True, "use_listings_cache": False}


@pytest.mark.long
def test_crawl_that_is_killed_during_an_upload_loses_no_file(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text(f'[archive]\nvolumes = ["s3://{KILLED}"]\nsegment_size = 4000\n')
    with object_store() as store, SynthWeb(SMALL) as web:
        files = fsspec.filesystem("s3", **OPTIONS)
        files.mkdir(KILLED)
        store.may_answer.clear()
        crawl = Crawl(web, tmp_path / "data", delay=0.02, config=config)
        with crawl.start() as under_way:
            until(lambda: store.uploads, "an upload begins")
            under_way.kill(group=True)
        store.may_answer.set()
        warc = crawl.data / "warc"

        def next_run_leaves_none() -> bool:
            # A run does not wait long for a slow store: what is left is uploaded by the next run.
            done = crawl.run()
            assert done.code == 0, done
            return all(path.suffix == ".uncommitted" for path in warc.iterdir())

        until(next_run_leaves_none, "all files are uploaded")
        files.get(f"{KILLED}/", f"{warc}/", recursive=True)
        assert_archived(crawl, web.requests(), web.truth)


@pytest.mark.long
def test_files_wait_for_their_store_and_are_uploaded_by_the_next_run(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text(f'[archive]\nvolumes = ["s3://{WAITING}/news"]\n')
    with object_store() as store, SynthWeb(SMALL) as web:
        files = fsspec.filesystem("s3", **OPTIONS)
        files.mkdir(WAITING)
        store.kill()
        crawl = Crawl(web, tmp_path / "data", delay=0.02, config=config)
        first = crawl.run()
        assert first.code == 0, first
        warc = crawl.data / "warc"
        (waiting,) = warc.glob("*.warc.gz")
        status = ask(crawl.data, "status").out
        assert "archive: 1 file" in status and "s3://captures/news/" in status
        store.start()
        second = crawl.run()
        assert second.code == 0, second
        assert list(warc.iterdir()) == []
        assert "archive:" not in ask(crawl.data, "status").out
        stored = [Path(name).name for name in files.ls(f"{WAITING}/news")]
        assert waiting.name in stored
        files.get(f"{WAITING}/news/", f"{warc}/", recursive=True)
        assert_archived(crawl, web.requests(), web.truth)

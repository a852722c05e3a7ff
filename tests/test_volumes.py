"""The contract of volumes, for a local folder, memory and a server of S3."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from gossamer.console.cli.main import main
from gossamer.errors import BadSettings
from gossamer.volumes import OPEN_SUFFIX, Missing, Volume, VolumeUnavailable, find_file, read_file
from tests.console.test_exports import A, B, append, gone
from tests.console.test_exports import page as document
from tests.servers import free_ports


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Yield the endpoint of an S3 server."""
    server = ThreadedMotoServer("127.0.0.1", port := free_ports(1))
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture(params=["file", "s3"])
def volume(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Volume:
    if request.param == "file":
        return Volume(f"file://{tmp_path}/volume")
    monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "name")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    made = Volume(f"s3://bucket-{uuid.uuid4().hex}/prefix")
    made._files.mkdir(made._root.split("/")[0])
    return made


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> Volume:
    """A volume on a server that does not answer."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_ports(1)}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "name")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    return Volume("s3://bucket")


def test_stored_file_is_read_in_whole_and_in_part(volume: Volume, tmp_path: Path) -> None:
    local = tmp_path / "local"
    local.write_bytes(b"0123456789")
    volume.put("folder/file", local)
    assert volume.size("folder/file") == 10
    assert volume.read("folder/file") == b"0123456789"
    assert volume.read("folder/file", 2, 5) == b"234"
    assert volume.uri("folder/file") == f"{volume.url}/folder/file"


def test_names_are_sorted_and_below_a_folder(volume: Volume) -> None:
    for name in ("b/2", "a", "b/1"):
        volume.put_bytes(name, b"x")
    assert volume.names() == ["a", "b/1", "b/2"]
    assert volume.names("b") == ["b/1", "b/2"]
    assert volume.names("none") == []


def test_removed_file_is_missing(volume: Volume) -> None:
    volume.put_bytes("file", b"x")
    volume.remove("file")
    volume.remove("file")
    assert volume.size("file") is None
    with pytest.raises(Missing, match="file is missing"):
        volume.read("file")


def test_unknown_protocol_is_refused_by_its_url() -> None:
    with pytest.raises(BadSettings, match="gopher://host"):
        Volume("gopher://host")


def test_server_that_does_not_answer_is_unavailable(lost: Volume) -> None:
    with pytest.raises(VolumeUnavailable, match="s3://bucket/file"):
        lost.put_bytes("file", b"x")


def test_file_is_found_in_the_folder_while_it_is_open_and_then_in_the_volumes(
    volume: Volume, tmp_path: Path
) -> None:
    folder, other = tmp_path / "a folder", Volume(f"file://{tmp_path}/other")
    (folder / "writer").mkdir(parents=True)
    (folder / f"writer/1{OPEN_SUFFIX}").write_bytes(b"open")
    found, name = find_file(folder, [other, volume], "writer/1")
    assert (found.read(name), name) == (b"open", f"writer/1{OPEN_SUFFIX}")
    assert found.uri(name).startswith("file:///") and "a%20folder" in found.uri(name)
    (folder / f"writer/1{OPEN_SUFFIX}").rename(folder / "writer/1")
    assert find_file(folder, [other, volume], "writer/1")[1] == "writer/1"
    volume.put("writer/1", folder / "writer/1")
    (folder / "writer/1").unlink()
    assert find_file(folder, [other, volume], "writer/1") == (volume, "writer/1")
    assert read_file(None, [other, volume], "writer/1", 1, 3) == b"pe"
    with pytest.raises(Missing, match="writer/2 is missing in"):
        find_file(folder, [other, volume], "writer/2")


def test_file_may_be_in_a_volume_that_does_not_answer(tmp_path: Path, lost: Volume) -> None:
    there = Volume(f"file://{tmp_path}")
    there.put_bytes("1", b"x")
    assert find_file(None, [lost, there], "1") == (there, "1")
    with pytest.raises(VolumeUnavailable, match="s3://bucket/2"):
        find_file(None, [lost, there], "2")


def test_markdown_in_a_volume_is_kept_up_to_date(
    volume: Volume, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    command = ["export", f"{volume.url}/notes/", "--format", "markdown", "--data", str(data)]
    for events, count, said in (
        ([document(A), document(B)], 3, "2 files written"),
        ([gone(B)], 2, "0 files written"),
    ):
        append(data, *events)
        assert main(command) == 0
        assert said in capsys.readouterr().out
        names = volume.names("notes")
        assert len(names) == count and "notes/llms.txt" in names
    (name,) = (name for name in names if name.endswith(".md"))
    assert f'url: "{A}"' in volume.read(name).decode()

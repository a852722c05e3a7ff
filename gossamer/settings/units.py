"""Types of settings with their units, which `docs/configuration.md` shows.

Every setting has a description below it, and either a unit or a type that needs none: a choice, a
boolean, a path or a secret.
"""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    """A table of the TOML file. Its docstring and the strings below its fields are for operators.

    Pydantic's own messages omit the input, which may be a secret. `gossamer.schemas` reads the
    descriptions of fields from the source: Pydantic would do so at each import of the settings,
    which then takes three times as long.
    """

    model_config = ConfigDict(
        allow_inf_nan=False,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        validate_default=True,
    )


def unit(name: str) -> Any:
    """Return the metadata of a setting that is measured, or written, in *name*."""
    return Field(json_schema_extra={"unit": name})


Positive = Annotated[int, Field(gt=0)]
Natural = Annotated[int, Field(ge=0)]

Seconds = Annotated[float, Field(gt=0), unit("seconds")]
SecondsOrZero = Annotated[float, Field(ge=0), unit("seconds")]
Factor = Annotated[float, Field(ge=0), unit("times")]
Bytes = Annotated[Positive, unit("bytes")]
BodyBytes = Annotated[Bytes, Field(le=64 << 20)]
"""The size of a body, of which services hold several in memory."""

Address = Annotated[str, unit("IP address")]
Hosts = Annotated[Positive, unit("hosts")]
Name = Annotated[str, unit("name")]
Port = Annotated[int, Field(ge=1, le=65535), unit("port")]
PortOrZero = Annotated[int, Field(ge=0, le=65535), unit("port")]

DAY = 86400.0
TWENTY_YEARS = 630_720_000.0
"""Cassandra's maximum time to live, in seconds."""


def min_retention(seconds: float) -> Any:
    """Return the metadata of a retention setting: at least *seconds*, or 0 for no expiry."""

    def check(given: float) -> float:
        if given and not seconds <= given <= TWENTY_YEARS:
            raise ValueError(f"must be 0 or from {seconds:.0f} to {TWENTY_YEARS:.0f}")
        return given

    return AfterValidator(check)


def _network(given: object) -> IPv4Network | IPv6Network:
    # Pydantic alone would report an error for each of the two kinds of network.
    if isinstance(given, IPv4Network | IPv6Network):
        return given
    try:
        return ip_network(str(given))
    except ValueError as error:
        raise ValueError("must be a network such as 10.0.0.0/8 or fd00::/8") from error


Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Networks = Annotated[tuple[Network, ...], unit("list of CIDR networks")]
_word = "[!#$%&'*+.^_`|~0-9a-z-]+"
MediaRange = Annotated[str, Field(pattern=f"^{_word}/{_word}$")]
MediaRanges = Annotated[tuple[MediaRange, ...], unit("list of media types")]

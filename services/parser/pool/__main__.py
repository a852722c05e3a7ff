"""The program of the fork server and of its children: `python -m gossamer.services.parser.pool`."""

import contextlib
import gc

# Imports leave no garbage; collecting it would take an eighth of their time.
gc.disable()

from gossamer.services.parser.pool.child import main  # noqa: E402 - after the collector is off

if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()

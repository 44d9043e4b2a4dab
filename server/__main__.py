"""`python -m server`."""

import sys

if __name__ == "__main__":
    try:
        from server.cli import main

        sys.exit(main())
    except KeyboardInterrupt:  # so early that nothing has begun
        sys.exit(130)

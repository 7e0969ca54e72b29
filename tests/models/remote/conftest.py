"""Tests of wrapped models begin without recorded answers, as those of generators."""

from tests.generators.conftest import _nothing_recorded as _nothing_recorded
from tests.generators.conftest import clients_of_others as clients_of_others

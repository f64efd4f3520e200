"""What the services of the stack have in common; each says how it is installed, started and asked."""

from abc import ABC, abstractmethod


class Service(ABC):
    """A service that is started here, or stands elsewhere and is named by a variable."""

    # For messages, logs and the file in .dev/run.
    name = ""
    # What the product reads the address from.
    address_variable = ""
    # What else the product has to be told about a service that is started here: variables and their values.
    settings = {}

    @abstractmethod
    def check(self):
        """Raises `Trouble` when a tool that it needs is missing."""

    @abstractmethod
    def pick_ports(self, ports):
        """Picks its ports, before anything is downloaded."""

    @abstractmethod
    def install(self):
        """Downloads what is missing."""

    @abstractmethod
    def start(self):
        """Starts it on its ports and gives the `Process`, whose record has `port` and `identity`."""

    @abstractmethod
    def answers(self, process):
        """Whether it answers on its port, and as itself."""

    @abstractmethod
    def address(self, process):
        """What `address_variable` gets."""

    def clean(self):  # noqa: B027 (most have nothing)
        """Removes what a killed service may have left outside of .dev."""

    @abstractmethod
    def reachable(self, address):
        """Whether something listens at an address given from outside."""

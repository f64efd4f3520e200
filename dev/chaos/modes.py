"""What a proxy can do to an insert. A mode sees it at each stage and may hold it, cut it or answer it."""

import threading
import time

from .http_message import content_length, refusal

# The stages of an insert, in order, at which a moment can be caught.
BEGUN = "begun"  # its head has come, nothing went on
BUFFERED = "buffered"  # all of it has come, nothing went on
BODY = "body"  # part of its body went on
SENT = "sent"  # all of it went on, no answer yet
ANSWERED = "answered"  # the server has answered, the member doesn't know
TOLD = "told"  # the member has the answer


class Cut(Exception):
    """Breaks both connections, after a last piece for the server."""

    def __init__(self, last=b""):
        super().__init__()
        self.last = last


class Answer(Exception):
    """Answers in place of the server."""


class Mode:
    """Passes everything on. Each subclass does one thing, and counts how often it really did."""

    buffers = False

    def __init__(self, slot=None):
        self._slot = slot
        self._changed = threading.Condition()
        self._strikes = 0

    @property
    def strikes(self):
        return self._strikes

    def wait(self, strikes, seconds):
        """Whether it has struck that often, waiting for it a while."""
        with self._changed:
            return self._changed.wait_for(lambda: self._strikes >= strikes, seconds)

    def struck(self):
        """Counts a strike."""
        with self._changed:
            self._strikes += 1
            self._changed.notify_all()

    def wants(self, request):
        """Whether it has to do with an insert."""
        return self._slot in (None, request.slot)

    def begun(self, request):
        """Its head has come."""

    def buffered(self, request):
        """All of it has come; only when `buffers`."""

    def piece(self, request, sent, piece):
        """Before a piece goes on, `sent` bytes of the body being gone."""

    def sent(self, request):
        """All of it went on."""

    def answered(self, request, code):
        """The server has answered, with an exception code or 0."""

    def told(self, request, code):
        """The member has the answer."""


class Refuse(Mode):
    """Breaks connections as soon as something comes."""

    def begun(self, request):
        self.struck()
        raise Cut


class CutBody(Mode):
    """Cuts the connection in the middle of a body."""

    def __init__(self, share, times):
        super().__init__()
        self._share = share
        self._times = times

    def wants(self, request):
        return self.strikes < self._times

    def piece(self, request, sent, piece):
        # Of a body in chunks the length isn't known: then in its first piece of data.
        length = content_length(request.head)
        at = int(self._share * length) if length else sent + int(self._share * len(piece))
        if sent + len(piece) > at and (length or len(piece) > 64):
            last = piece[: max(1, at - sent)] if len(piece) > 1 else b""
            if sent + len(last) > 0:
                self.struck()
                raise Cut(last)


class SlowBody(Mode):
    """Lets a body through in so many seconds."""

    def __init__(self, seconds):
        super().__init__()
        self._seconds = seconds

    def piece(self, request, sent, piece):
        length = content_length(request.head) or 4 * len(piece)
        time.sleep(self._seconds * min(1, len(piece) / length))

    def sent(self, request):
        self.struck()


class SlowAnswer(Mode):
    """Holds answers back for so many seconds."""

    def __init__(self, seconds, times):
        super().__init__()
        self._seconds = seconds
        self._times = times

    def wants(self, request):
        return self.strikes < self._times

    def answered(self, request, code):
        self.struck()
        time.sleep(self._seconds)


class LoseAnswer(Mode):
    """Drops the answer of an insert that landed."""

    def __init__(self, times):
        super().__init__()
        self._times = times

    def wants(self, request):
        return self.strikes < self._times

    def answered(self, request, code):
        if code == 0:
            self.struck()
            raise Cut


class Refusal(Mode):
    """Answers with an error; the server sees nothing of the insert."""

    def __init__(self, code, symbol, times):
        super().__init__()
        self._reply = refusal(code, symbol)
        self._times = times

    def wants(self, request):
        return self.strikes < self._times

    def begun(self, request):
        self.struck()
        raise Answer(self._reply)


class RefusalAfterLanding(Mode):
    """Answers with an error although the insert landed."""

    def __init__(self, code, symbol, times):
        super().__init__()
        self._reply = refusal(code, symbol)
        self._times = times

    def wants(self, request):
        return self.strikes < self._times

    def answered(self, request, code):
        if code == 0:
            self.struck()
            raise Answer(self._reply)


class Moment(Mode):
    """Does something once, when an insert reaches a stage; the insert waits there until that is done."""

    def __init__(self, stage, action, slot=None):
        super().__init__(slot)
        self.buffers = stage == BUFFERED
        self.request = None
        self.error = None
        self._stage = stage
        self._action = action
        self._free = threading.Lock()

    def wants(self, request):
        return super().wants(request) and self.request is None

    def cancel(self):
        """Whether the moment has not come; it won't any more."""
        return self._free.acquire(blocking=False)

    def _reach(self, stage, request):
        if stage == self._stage and self._free.acquire(blocking=False):
            self.request = request
            try:
                self._action(request)
            except Exception as error:  # told to whoever waits for the moment
                self.error = error
            self.struck()

    def begun(self, request):
        self._reach(BEGUN, request)

    def buffered(self, request):
        self._reach(BUFFERED, request)

    def piece(self, request, sent, piece):
        if sent:
            self._reach(BODY, request)

    def sent(self, request):
        self._reach(SENT, request)

    def answered(self, request, code):
        if code == 0:
            self._reach(ANSWERED, request)

    def told(self, request, code):
        if code == 0:
            self._reach(TOLD, request)

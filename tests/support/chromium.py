# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real headless Chromium, told what to do over its debugging pipe: messages in JSON, each ended by a NUL."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import typing as t

SECONDS = 60
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def command() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """One page. What it logs, and what it asks the network for, is kept."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.logged: list[str] = []
        self.requested: list[str] = []
        self._loaded = False

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: t.Any) -> dict[str, t.Any]:
        self._number += 1
        message: dict[str, t.Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def size(self, width: int, height: int, mobile: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def prefer(self, scheme: str) -> None:
        """The colour scheme, ``light`` or ``dark``."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + SECONDS
        while not self._loaded:
            assert time.monotonic() < deadline, "the page did not load"
            self._next()

    def value(self, expression: str) -> t.Any:
        """What the expression gives in the page; a promise is awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def picture(self, path: str, whole: bool = False) -> None:
        self._save(path, self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def printed(self, path: str) -> None:
        self._save(path, self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    @staticmethod
    def _save(path: str, data: str) -> None:
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def _next(self) -> dict[str, t.Any]:
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self._read], [], [], left)[0], "Chromium does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, "Chromium ended"
            self._buffer += part
        raw, _nul, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(raw)
        self._keep(message.get("method", ""), message.get("params", {}))
        return message

    def _keep(self, method: str, parameters: dict[str, t.Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requested.append(parameters["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.logged.append(json.dumps(parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            self.logged.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.logged.append(parameters["entry"]["text"])


@contextlib.contextmanager
def page() -> t.Iterator[Page]:
    """A new Chromium with an empty profile; it is ended after."""
    program = command()
    assert program
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # It reads from descriptor 3 and writes to 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        process = subprocess.Popen(
            ["bash", "-c", script, "bash", program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            opened = Page(ours_out, ours_in)
            opened.attach()
            yield opened
        finally:
            os.close(ours_out)
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(ours_in)

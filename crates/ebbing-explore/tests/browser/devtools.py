"""A Chromium driven over the DevTools protocol with nothing but the standard library, and the program it looks at."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-extensions --disable-default-apps --mute-audio --hide-scrollbars
--remote-debugging-port=0 --remote-allow-origins=*""".split()


def chromium():
    """The path of a Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Socket:
    """A WebSocket to this machine: text messages only."""

    def __init__(self, address):
        host, path = address.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.stream = socket.create_connection((name, int(port)), timeout=120)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET /{path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
        self.stream.sendall("\r\n".join(lines).encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.stream.recv(65536)
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def take(self, count):
        while len(self.buffer) < count:
            more = self.stream.recv(1 << 20)
            if not more:
                raise ConnectionError("the browser has closed the connection")
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def send(self, text):
        data = text.encode()
        size = len(data)
        head = bytes([0x81])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        # A mask of zeros is a mask: the message stays as it is.
        self.stream.sendall(head + bytes(4) + data)

    def receive(self):
        whole = b""
        while True:
            first, second = self.take(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", self.take(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.take(8))
            data = self.take(size)
            if first & 0x0F in (0, 1):
                whole += data
                if first & 0x80:
                    return whole.decode()


class Browser:
    """A headless Chromium with an empty profile, and one page in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ebbing-browser-")
        command = [chromium(), *FLAGS, f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = os.path.join(self.folder, "DevToolsActivePort")
        deadline = time.time() + 60
        while not (os.path.exists(port_file) and "\n" in text_of(port_file)):
            if time.time() > deadline or self.process.poll() is not None:
                raise RuntimeError("Chromium did not start")
            time.sleep(0.05)
        self.port = int(text_of(port_file).split()[0])
        self.pages = []

    def page(self, width=1200, height=900):
        """A new tab."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        target = json.load(urllib.request.urlopen(request))
        page = Page(target["webSocketDebuggerUrl"], width, height)
        self.pages.append(page)
        return page

    def close(self):
        for page in self.pages:
            page.socket.stream.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    """One tab: what it does, and everything that it said and asked for."""

    def __init__(self, address, width, height):
        self.socket = Socket(address)
        self.number = 0
        self.requests, self.complaints, self.events = [], [], []
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def call(self, method, **parameters):
        self.number += 1
        number = self.number
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.hear(answer)

    def hear(self, answer):
        method, about = answer.get("method"), answer.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([a.get("value", a.get("description")) for a in about["args"]]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.complaints.append(about["entry"]["text"] + " " + about["entry"].get("url", ""))

    def run(self, script):
        """The value of an expression, promises awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", script))
        return answer["result"].get("value")

    def until(self, script, seconds=60):
        """Waits until an expression is true, and returns it."""
        deadline = time.time() + seconds
        while True:
            value = self.run(script)
            if value:
                return value
            if time.time() > deadline:
                problem = self.run("document.getElementById('problem')?.textContent")
                raise TimeoutError(f"not within {seconds} s: {script} (the page says: {problem})")
            time.sleep(0.03)

    def open(self, address):
        # A new document even where only the fragment differs.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && document.body && document.body.dataset !== undefined")

    def size(self, width, height, dark=False):
        metrics = dict(width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        if path:
            with open(path, "wb") as file:
                file.write(base64.b64decode(shot["data"]))

    def place(self, selector):
        """The middle of an element that is scrolled into view, once it is there: a page may still be on its way."""
        script = f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;
            e.scrollIntoView({{ block: 'center' }}); const b = e.getBoundingClientRect();
            return [b.left + b.width / 2, b.top + b.height / 2, b.width, b.height]; }})()"""
        return self.until(script, 20)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector):
        x, y, *_ = self.place(selector)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, start, end, steps=10):
        """The mouse pressed at one point, moved, and released at another."""
        (x0, y0), (x1, y1) = start, end
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1)
        for k in range(1, steps + 1):
            part = k / steps
            self.mouse("mouseMoved", x0 + part * (x1 - x0), y0 + part * (y1 - y0), button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)

    def key(self, name, control=False):
        # Buttons hear Enter as a character.
        more = {"text": "\r", "windowsVirtualKeyCode": 13} if name == "Enter" else {}
        more |= {"modifiers": 2, "windowsVirtualKeyCode": ord(name.upper())} if control else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, code=name, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, code=name)

    def choose(self, selector, value):
        """Sets a field as a user would, with its events."""
        self.run(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            if (e.type === 'checkbox') e.checked = {json.dumps(value)}; else e.value = {json.dumps(str(value))};
            e.dispatchEvent(new Event('input', {{ bubbles: true }}));
            e.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()""")

    def upload(self, selector, path):
        document = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[path], nodeId=node)


class Program:
    """`ebbing explore`, started and ended."""

    def __init__(self, path, *more):
        self.home = tempfile.mkdtemp(prefix="ebbing-home-")
        environment = {**os.environ, "HOME": self.home, "XDG_DATA_HOME": self.home}
        command = [path, "explore", "--port", "0", "--no-browser", *more]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:"), self.address + self.process.stderr.read()
        self.base = self.address.split("#")[0]

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()
        self.process.stderr.close()
        shutil.rmtree(self.home, ignore_errors=True)

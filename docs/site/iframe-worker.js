// Browsers start no worker from disk (file:). There the search runs in a hidden frame that behaves like one.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><title>search</title>");
      inside.document.close();
      // What the script posts comes here; the frame has no other way to speak.
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      // In order, as a worker imports; the script that asks waits for the promise.
      inside.importScripts = (...urls) =>
        urls.reduce(
          (before, address) => before.then(() => this.load(new URL(address, url).href)),
          Promise.resolve(),
        );
      this.ready = this.load(url);
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        this.frame.contentDocument.body.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow;
        const event = new inside.MessageEvent("message", { data });
        inside.dispatchEvent(event);
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}

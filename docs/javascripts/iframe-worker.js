// Browsers start no worker from a file: where the site is opened from the disk, its search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      this.ready = new Promise((done) => frame.addEventListener("load", () => done(frame.contentWindow)));
      frame.hidden = true;
      frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      frame.srcdoc =
        "<script>postMessage = (data) => frameElement.answer(data)</script>" + `<script src="${new URL(url, location)}"></script>`;
      document.body.append(frame);
    }

    async postMessage(data) {
      const inside = await this.ready;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
  };
}

// A timer that can be stopped. What hosts call one differs, so it stays here.
export class Timer {
  constructor(ms) {
    this.over = new Promise((resolve) => {
      this.id = setTimeout(resolve, ms);
    });
  }

  stop() {
    clearTimeout(this.id);
  }
}

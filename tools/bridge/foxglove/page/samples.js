// SPDX-License-Identifier: Apache-2.0
// The last values of one series, oldest first, in a ring of doubles.

const CAPACITY = 1 << 16;

export class Samples {
  length = 0;
  #times = new Float64Array(1024);
  #values = new Float64Array(1024);
  #start = 0;

  clear() {
    this.length = this.#start = 0;
  }

  // Time that goes back begins a new series.
  push(time, value) {
    if (this.length && time < this.time(this.length - 1)) this.clear();
    if (this.length === this.#times.length) {
      if (this.length < CAPACITY) this.#grow();
      else this.#drop();
    }
    const at = (this.#start + this.length++) % this.#times.length;
    this.#times[at] = time;
    this.#values[at] = value;
  }

  #drop() {
    this.#start = (this.#start + 1) % this.#times.length;
    this.length--;
  }

  #grow() {
    const size = this.#times.length;
    for (const name of ["times", "values"]) {
      const old = name === "times" ? this.#times : this.#values;
      const larger = new Float64Array(size * 2);
      for (let i = 0; i < this.length; i++) larger[i] = old[(this.#start + i) % size];
      if (name === "times") this.#times = larger;
      else this.#values = larger;
    }
    this.#start = 0;
  }

  time(i) {
    return this.#times[(this.#start + i) % this.#times.length];
  }

  value(i) {
    return this.#values[(this.#start + i) % this.#times.length];
  }

  // The first sample that is not before a time.
  find(time) {
    let low = 0, high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time(middle) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The value that held at a time; NaN: there was none yet.
  at(time) {
    const i = this.find(time);
    if (i < this.length && this.time(i) === time) return this.value(i);
    return i > 0 ? this.value(i - 1) : NaN;
  }
}

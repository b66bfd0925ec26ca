// A name that one may have to write, or many to read.
import type { Lock } from "./lock.js";
import type { ReadWriteOptions } from "./lock-options.js";

/** A name that one may have to write, or many to read. Made by {@link Client.readWrite}. */
export class ReadWrite {
  readonly #make: (reads: boolean, options: ReadWriteOptions) => Lock;

  private constructor(make: (reads: boolean, options: ReadWriteOptions) => Lock) {
    this.#make = make;
  }

  /** @internal */
  static of(make: (reads: boolean, options: ReadWriteOptions) => Lock): ReadWrite {
    return new ReadWrite(make);
  }

  /**
   * The lock to read under. Many can hold it at once, and no writer then. A new reader waits behind
   * a waiting writer, unless the reader has `fair: false`. `inspect` lists the readers;
   * `forceRelease` frees the name of all. A `GroupCommit` cannot use this lock.
   */
  read(options: ReadWriteOptions = {}): Lock {
    return this.#make(true, options);
  }

  /**
   * The lock to write under, which one holds alone. A release hands it to the next writer, or to
   * all readers up to that one. {@link Lease.downgrade} makes a reader of a writer.
   */
  write(options: ReadWriteOptions = {}): Lock {
    return this.#make(false, options);
  }
}

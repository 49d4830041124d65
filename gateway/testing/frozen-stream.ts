import { Duplex } from 'node:stream'

/** A connection whose other end takes nothing of what is written to it. */
export class FrozenStream extends Duplex {
  override _read(): void {
    // what comes from it is pushed by the test
  }

  override _write(): void {
    // never done
  }
}

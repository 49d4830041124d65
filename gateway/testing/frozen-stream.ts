import { Duplex } from 'node:stream'

/** Connection whose other end accepts none of the bytes written to it. */
export class FrozenStream extends Duplex {
  override _read(): void {
    // the test pushes incoming bytes
  }

  override _write(): void {
    // never completes
  }
}

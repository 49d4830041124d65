import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { FairQueue } from '#shared/budgets/fair-queue.ts'

/** Cost parameters of RFC 7914: 16 MB, and about 50 ms of a core of a Raspberry Pi. */
const COST = { N: 16_384, r: 8, p: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Limit, because Node has four threads for hashing and for files. */
const AT_ONCE = 2

/** Hashes and compares PINs off the main thread, two at a time, in fair order between users. */
export class PinHasher {
  readonly #waiting = new FairQueue<() => void>()
  #running = 0

  /** Returns `scrypt`, its costs, the salt and the hash, separated by `$`. */
  async hash(owner: string, pin: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    const key = await this.#derive(owner, pin, salt, HASH_BYTES, COST)
    const { N, r, p } = COST
    return ['scrypt', N, r, p, salt.toString('base64url'), key.toString('base64url')].join('$')
  }

  async matches(owner: string, pin: string, pinHash: string): Promise<boolean> {
    const [name, n, r, p, salt = '', hash = ''] = pinHash.split('$')
    const kept = Buffer.from(hash, 'base64url')
    if (name !== 'scrypt' || kept.length < HASH_BYTES) return false
    const cost = { N: Number(n), r: Number(r), p: Number(p) }
    return timingSafeEqual(await this.#derive(owner, pin, Buffer.from(salt, 'base64url'), kept.length, cost), kept)
  }

  async #derive(owner: string, pin: string, salt: Buffer, bytes: number, cost: ScryptOptions): Promise<Buffer> {
    await this.#turn(owner)
    try {
      return await new Promise<Buffer>((resolve, reject) =>
        scrypt(pin, salt, bytes, cost, (error, key) => (error === null ? resolve(key) : reject(error))),
      )
    } finally {
      this.#running--
      this.#waiting.take(() => true)?.()
    }
  }

  #turn(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const begin = () => {
        this.#running++
        resolve()
      }
      if (this.#running < AT_ONCE) begin()
      else this.#waiting.push(owner, begin)
    })
  }
}

import { type LookupAddress, lookup as lookUp } from 'node:dns'
import type { LookupFunction } from 'node:net'

type Found = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** Of the four threads that Node has for it and for much else, such as the check of a PIN. */
const AT_ONCE = 2

/**
 * Finds the addresses of hosts as the system does, which takes many seconds where no name server answers: two at a
 * time, and each host once for all who wait for it.
 */
export class DnsLookups {
  readonly #waiting = new Map<string, Found[]>()
  readonly #line: string[] = []
  readonly #lookUp: typeof lookUp
  #underWay = 0

  /** Tests give it a name server of their own. */
  constructor(use: typeof lookUp = lookUp) {
    this.#lookUp = use
  }

  readonly lookup: LookupFunction = (hostname, { all }, callback) => {
    this.#ask(hostname, (error, addresses) => {
      const [first] = addresses
      if (error !== null || first === undefined) callback(error ?? notFound(hostname), '', 0)
      else if (all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }

  #ask(hostname: string, found: Found): void {
    const others = this.#waiting.get(hostname)
    if (others !== undefined) {
      others.push(found)
      return
    }
    this.#waiting.set(hostname, [found])
    this.#line.push(hostname)
    this.#next()
  }

  #next(): void {
    if (this.#underWay >= AT_ONCE) return
    const hostname = this.#line.shift()
    if (hostname === undefined) return
    this.#underWay++
    this.#lookUp(hostname, { all: true }, (error, addresses) => {
      this.#underWay--
      const asking = this.#waiting.get(hostname) ?? []
      this.#waiting.delete(hostname)
      for (const found of asking) found(error, addresses ?? [])
      this.#next()
    })
  }
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })
}

import { type LookupAddress, lookup as lookUp } from 'node:dns'
import type { LookupFunction } from 'node:net'

type Found = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** Limit, because Node has four threads for lookups and for other work such as PIN checks. */
const AT_ONCE = 2

/** Resolves names by the system, which is slow without a name server: two at a time, each host once for all callers. */
export class DnsLookups {
  readonly #waiting = new Map<string, Found[]>()
  readonly #line: string[] = []
  readonly #lookUp: typeof lookUp
  #underWay = 0

  /** Tests pass their own resolver. */
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

import { addressOwner } from '#shared/budgets/address.ts'
import type { Rates } from '#shared/budgets/rates.ts'
import type { Slots } from '#shared/budgets/slots.ts'
import { TokenBucket } from '#shared/budgets/token-bucket.ts'
import type { Component } from '#shared/lifecycle.ts'

/** A socket, as far as counting goes. */
interface Closable {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localPort?: number | undefined
  destroy(): void
  once(event: 'close', listener: () => void): void
}

export interface ConnectionLimits {
  total: number
  perAddress: number
}

/** What each address may have and do. */
export interface ListenerBudgets {
  /** Connections that have not logged in. */
  halfOpen: Slots
  /** Failed logins, of addresses and of user names. */
  failedLogins: Rates
}

export type AdmissionRefusal =
  | 'too_many_connections'
  | 'too_many_connections_of_address'
  | 'too_many_half_open'
  | 'too_many_failed_logins'

/** TLS handshakes a second that are still done for an address with too many failed logins: each costs milliseconds. */
const ON_PROBATION = { perSecond: 100, burst: 100 }
const MAX_ADDRESSES = 10_000
/** How long a wrong login is left without an answer: whoever tries one password after the other tries fewer. */
const HOLD_MS = 1_000
/** When a connection that has said nothing may have to give way to another of its address. */
const SILENT_MS = 2_000
/** Of a user name that is tried, the part that tells it from others. */
const NAME_MAX = 128

interface Address {
  readonly owner: string
  open: number
  /** Those that have not logged in, the longest first. */
  readonly halfOpen: Set<Place>
  readonly handshakes: TokenBucket
}

interface Place {
  readonly socket: Closable
  readonly address: Address
  readonly sinceMs: number
  /** Its login has failed, and the answer waits. */
  isHeld: boolean
}

/**
 * The open sockets of all MQTT ports together: no more than so many, no more than so many from one address, and of
 * those that have not logged in fewer still. A newcomer takes the place of one that has had its time, or that is of an
 * address with more of them than its own, so sockets that say nothing shut nobody out. None outlives the broker.
 */
export class Connections implements Component {
  readonly #limits: ConnectionLimits
  readonly #budgets: ListenerBudgets
  readonly #open = new Map<Closable, Place>()
  readonly #byPeer = new Map<string, Place>()
  readonly #addresses = new Map<string, Address>()
  readonly #isProxy: (address: string) => boolean

  /** `isProxy` tells the addresses that stand for many clients: each of their connections counts by itself. */
  constructor(limits: ConnectionLimits, budgets: ListenerBudgets, isProxy: (address: string) => boolean = () => false) {
    this.#limits = limits
    this.#budgets = budgets
    this.#isProxy = isProxy
  }

  /** Takes a place until the socket is closed; tells why when there is none. */
  admit(socket: Closable, address: string, { isHandshake = false } = {}): AdmissionRefusal | undefined {
    const known = this.#addressOf(this.#isProxy(address) ? peerOf(socket) : addressOwner(address))
    const isOnProbation = this.#budgets.failedLogins.waitMs(known.owner) > 0
    if (isHandshake && isOnProbation && !known.handshakes.take()) return 'too_many_failed_logins'
    if (this.#open.size >= this.#limits.total && !this.#makeRoom(known)) return 'too_many_connections'
    if (known.open >= this.#limits.perAddress && !this.#makeRoomWithin(known)) return 'too_many_connections_of_address'
    if (!this.#takeHalfOpen(known)) return 'too_many_half_open'
    this.#enter({ socket, address: known, sinceMs: performance.now(), isHeld: false })
    return undefined
  }

  /** The client at the other end has logged in. */
  loggedIn(socket: Closable): void {
    const place = this.#byPeer.get(peerOf(socket))
    if (place?.address.halfOpen.delete(place)) this.#budgets.halfOpen.release(place.address.owner)
  }

  /**
   * A login has failed: returns for how many milliseconds it is to be left without an answer, because its address or
   * the user name is tried too often. A right one is never kept waiting.
   */
  loginFailed(address: string, userName?: string, socket?: Closable): number {
    const { failedLogins } = this.#budgets
    const isOfAddress = !failedLogins.take(addressOwner(address))
    const isOfName = userName !== undefined && !failedLogins.take(`name ${userName.slice(0, NAME_MAX)}`)
    if (!isOfAddress && !isOfName) return 0
    const place = socket && this.#byPeer.get(peerOf(socket))
    if (place !== undefined) place.isHeld = true
    return HOLD_MS
  }

  async start(): Promise<void> {
    // the listeners open what there is to close
  }

  /** Ends what the broker does not know: a socket that never said CONNECT would keep the process for ten seconds. */
  async stop(): Promise<void> {
    for (const socket of this.#open.keys()) socket.destroy()
  }

  #enter(place: Place): void {
    const { socket, address } = place
    address.open++
    address.halfOpen.add(place)
    this.#open.set(socket, place)
    this.#byPeer.set(peerOf(socket), place)
    const peer = peerOf(socket)
    socket.once('close', () => {
      this.#leave(place)
      if (this.#byPeer.get(peer) === place) this.#byPeer.delete(peer)
    })
  }

  #leave(place: Place): void {
    const { socket, address } = place
    if (!this.#open.delete(socket)) return
    address.open--
    if (address.halfOpen.delete(place)) this.#budgets.halfOpen.release(address.owner)
  }

  #takeHalfOpen(known: Address): boolean {
    const { halfOpen } = this.#budgets
    return halfOpen.take(known.owner) || (this.#makeRoom(known) && halfOpen.take(known.owner))
  }

  /** Ends a connection of the address that has had its time, or one of an address that has more of them. */
  #makeRoom(known: Address): boolean {
    return this.#makeRoomWithin(known) || this.#makeRoomOfCrowd(known)
  }

  #makeRoomWithin({ halfOpen }: Address): boolean {
    const spokenFor = [...halfOpen].find(({ isHeld }) => isHeld)
    const [oldest] = halfOpen
    const isSilent = oldest !== undefined && performance.now() - oldest.sinceMs >= SILENT_MS
    return this.#end(spokenFor ?? (isSilent ? oldest : undefined))
  }

  #makeRoomOfCrowd(known: Address): boolean {
    let crowd = known
    for (const each of this.#addresses.values()) if (each.halfOpen.size > crowd.halfOpen.size) crowd = each
    return crowd !== known && this.#end([...crowd.halfOpen][0])
  }

  #end(place: Place | undefined): boolean {
    if (place === undefined) return false
    this.#leave(place)
    place.socket.destroy()
    return true
  }

  #addressOf(owner: string): Address {
    let known = this.#addresses.get(owner)
    if (known === undefined) {
      if (this.#addresses.size >= MAX_ADDRESSES) this.#forgetIdle()
      known = { owner, open: 0, halfOpen: new Set(), handshakes: new TokenBucket(ON_PROBATION) }
      this.#addresses.set(owner, known)
    }
    return known
  }

  #forgetIdle(): void {
    for (const [owner, { open, handshakes }] of this.#addresses) {
      if (open === 0 && handshakes.isFull()) this.#addresses.delete(owner)
    }
  }
}

function peerOf({ remoteAddress, remotePort, localPort }: Closable): string {
  return `${remoteAddress} ${remotePort} ${localPort}`
}

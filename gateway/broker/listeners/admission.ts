import { addressOwner } from '#shared/budgets/address.ts'
import type { Rates } from '#shared/budgets/rates.ts'
import type { Slots } from '#shared/budgets/slots.ts'
import { TokenBucket } from '#shared/budgets/token-bucket.ts'
import type { Component } from '#shared/lifecycle.ts'

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

/** Budgets of each address. */
export interface ListenerBudgets {
  /** Connections that have not logged in. */
  halfOpen: Slots
  /** Failed logins, by address and by user name. */
  failedLogins: Rates
}

export type AdmissionRefusal =
  | 'too_many_connections'
  | 'too_many_connections_of_address'
  | 'too_many_half_open'
  | 'too_many_failed_logins'

/** Limit of TLS handshakes a second for an address with too many failed logins: each costs milliseconds. */
const ON_PROBATION = { perSecond: 100, burst: 100 }
const MAX_ADDRESSES = 10_000
/** Delay of the response to a failed login, which slows down guessing passwords. */
const HOLD_MS = 1_000
/** Age after which a connection that has not logged in may be closed for a new one of its address. */
const SILENT_MS = 2_000
/** Length of the part of a user name that identifies it for counting. */
const NAME_MAX = 128

interface Address {
  readonly owner: string
  open: number
  /** Connections that have not logged in, oldest first. */
  readonly halfOpen: Set<Place>
  readonly handshakes: TokenBucket
}

interface Place {
  readonly socket: Closable
  readonly address: Address
  readonly sinceMs: number
  /** True if its login has failed and the response is delayed. */
  isHeld: boolean
}

/**
 * Open sockets of all MQTT ports together. Their number is limited in total, for each address, and lower still before
 * the login. A new connection replaces an old one of its address that has had its time, or one of the address with most
 * connections before the login, so idle sockets cannot lock out other clients. No socket outlives the broker.
 */
export class Connections implements Component {
  readonly #limits: ConnectionLimits
  readonly #budgets: ListenerBudgets
  readonly #open = new Map<Closable, Place>()
  readonly #byPeer = new Map<string, Place>()
  readonly #addresses = new Map<string, Address>()
  readonly #isProxy: (address: string) => boolean

  /** `isProxy` is true for addresses of many clients: each of their connections is counted separately. */
  constructor(limits: ConnectionLimits, budgets: ListenerBudgets, isProxy: (address: string) => boolean = () => false) {
    this.#limits = limits
    this.#budgets = budgets
    this.#isProxy = isProxy
  }

  /** Takes a slot until the socket is closed; returns the reason if there is no free one. */
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

  loggedIn(socket: Closable): void {
    const place = this.#byPeer.get(peerOf(socket))
    if (place?.address.halfOpen.delete(place)) this.#budgets.halfOpen.release(place.address.owner)
  }

  /** Counts a failed login; returns a delay in ms after too many of the address or name. Correct logins never wait. */
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
    // the listeners open the sockets
  }

  /** Closes sockets unknown to the broker: one that never sends CONNECT would keep the process for ten seconds. */
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

  /** Closes a connection of the address that has had its time, or one of an address that has more before the login. */
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

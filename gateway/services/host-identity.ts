import { type MachineId, type MachineIds, mergeMachineIds, mismatchedId } from '#domain/machine.ts'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { typedCommand } from '#shared/typed-command.ts'
import type { Store } from '#store/store.ts'

interface MachineDeps {
  store: Pick<Store, 'read' | 'write'>
  /** Reads the identifiers of this host. */
  readIds: () => MachineIds
  events: { emit(name: 'machineConfirmed', event: object): void }
  log: Log
}

const WORDS: Record<MachineId, string> = {
  board: 'its board has another serial number',
  product: 'it has another serial number',
  product_board: 'its board has another serial number',
  network: 'it has other network cards',
  system: 'its system has another machine id',
}

/**
 * Detects a move of the database to another host. A copied card in the host of another site acts as the first site in
 * every respect, so nothing is sent to the hub until staff have confirmed the host. The stored identifiers stay those
 * of the first host until then, so that a card that is put back needs no confirmation.
 */
export class HostIdentity implements Component {
  readonly #deps: MachineDeps
  #signs: MachineIds = {}
  #mismatchedId: MachineId | null = null
  #confirming: Promise<void> | undefined

  constructor(deps: MachineDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    const { store, readIds, log } = this.#deps
    const known = store.read.machine()
    this.#signs = readIds()
    this.#mismatchedId = mismatchedId(known, this.#signs)
    if (this.#mismatchedId === null) this.#note(known)
    else log.warn({ sign: this.#mismatchedId }, this.detail ?? '')
  }

  async stop(): Promise<void> {
    await this.#confirming
  }

  /** Readable description of the problem and its remedy; null on the known host, or if it cannot be identified. */
  get detail(): string | null {
    if (this.#mismatchedId === null) return null
    return (
      `This data was used on another host: ${WORDS[this.#mismatchedId]}. Until an admin confirms this host, nothing ` +
      'is sent to the hub and no nightly backup is made. If it is the same course on a new host, confirm it in the ' +
      `app, with POST /machine/confirm, or with "${typedCommand('new-site --same-course')}" while the gateway is ` +
      `stopped. If this is a copy for another course, stop the gateway and run "${typedCommand('new-site --yes')}".`
    )
  }

  /** Confirms that this is the same site on a new host. */
  confirm(): Promise<void> {
    this.#confirming ??= this.#confirm().finally(() => {
      this.#confirming = undefined
    })
    return this.#confirming
  }

  async #confirm(): Promise<void> {
    if (this.#mismatchedId === null) return
    const { store, events, log } = this.#deps
    await store.write('confirmMachine', { signs: this.#signs }, () => {
      this.#mismatchedId = null
    })
    log.info({}, 'an admin confirmed the same site on a new host')
    events.emit('machineConfirmed', {})
  }

  /** Stores the identifiers; the gateway starts even if the write fails, and the next start repeats the check. */
  #note(known: MachineIds): void {
    const { store, log } = this.#deps
    const signs = mergeMachineIds(known, this.#signs)
    if (JSON.stringify(signs) === JSON.stringify(known)) return
    store
      .write('noteMachine', { signs })
      .catch((error: unknown) => log.warn({ reason: describeError(error) }, 'storing host identifiers failed'))
  }
}

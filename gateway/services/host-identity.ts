import { type MachineId, type MachineIds, mergeMachineIds, mismatchedId } from '#domain/machine.ts'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { typedCommand } from '#shared/typed-command.ts'
import type { Store } from '#store/store.ts'

interface MachineDeps {
  store: Pick<Store, 'read' | 'write'>
  /** What tells this machine from others. */
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
 * Whether the gateway runs on the machine that its database was used on. A copied card that is put into the machine of
 * another course is the first course in all it does: so the head office hears nothing of it until a person has decided
 * what it is. What is stored stays the first machine until then: a card that is put back asks nothing any more.
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

  /** What is wrong and what to do, for people; null while this is the machine of before, or nothing is known of it. */
  get detail(): string | null {
    if (this.#mismatchedId === null) return null
    return `This data was used on another machine: ${WORDS[this.#mismatchedId]}. Until an admin says what this is, the head office is sent nothing and no nightly backup is made. If it is the same course on a new machine, confirm it in the app, with POST /machine/confirm, or with "${typedCommand('new-site --same-course')}" while the gateway is stopped. If this is a copy for another course, stop the gateway and run "${typedCommand('new-site --yes')}".`
  }

  /** An admin says that this is the same course on a new machine. No news of the machine of before. */
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
    log.info({}, 'an admin says that this is the same course on another machine')
    events.emit('machineConfirmed', {})
  }

  /** A disk that takes nothing keeps no gateway from starting: the next start knows as much as this one. */
  #note(known: MachineIds): void {
    const { store, log } = this.#deps
    const signs = mergeMachineIds(known, this.#signs)
    if (JSON.stringify(signs) === JSON.stringify(known)) return
    store
      .write('noteMachine', { signs })
      .catch((error: unknown) => log.warn({ reason: describeError(error) }, 'could not note which machine this is'))
  }
}

import { type Login, ProgramClient } from './programs.ts'

/** Connection of a client with a last will. */
export interface Existence {
  /** Payload of its will, which no other connection has. */
  readonly will: string
  /** `unsure` if the broker may not have let it in, or may not know how it ended. */
  state: 'connecting' | 'alive' | 'left' | 'dead' | 'unsure'
  endedAtMs: number
  /** True if its line was cut when it ended, so that the broker learns of the end later. */
  wasCut: boolean
  /** Times at which the will came, with the number of the connection of the heir. */
  readonly arrivals: { atMs: number; connection: number }[]
}

/** Program with a last will, as one client or as two that take the connection from each other. */
export class Mortal {
  readonly id: string
  readonly bodies: readonly ProgramClient[]
  readonly existences: Existence[] = []
  readonly #current = new Map<ProgramClient, Existence>()
  readonly #now: () => number
  readonly #isCut: (body: ProgramClient) => boolean
  #turn = 0
  #made = 0

  constructor(
    login: Login,
    number: number,
    { now, isCut }: { now: () => number; isCut: (body: ProgramClient) => boolean },
  ) {
    this.id = `mortal-${number}`
    this.#now = now
    this.#isCut = isCut
    this.bodies = [0, 1].map(() => {
      const begin = () => this.#begin(body)
      const settings = {
        isKept: number % 2 === 1,
        get will() {
          return { topic: `will/${number}`, payload: begin(), qos: number % 2 === 0 ? 1 : 2, retain: false } as const
        },
      }
      const body: ProgramClient = new ProgramClient(login, this.id, settings, now)
      body.onReady = () => this.#settle(body, 'alive')
      body.onLost = () => {
        this.#settle(body, 'dead')
        // the other one has taken over, and does not give it back
        if (body !== this.body) body.client.goOffline('abruptly')
      }
      return body
    })
  }

  /** The client that is connected, or wants to be. */
  get body(): ProgramClient {
    return this.bodies[this.#turn % 2] as ProgramClient
  }

  /** Lets the other client take the connection. */
  takeOver(): ProgramClient {
    this.#turn += 1
    return this.body
  }

  /** Disconnects politely, so that its will is dropped. */
  leave(): void {
    const { body } = this
    const existence = this.#current.get(body)
    if (existence?.state === 'alive') this.#end(body, existence, this.#isCut(body) ? 'unsure' : 'left')
    body.goOffline('politely', this.#now())
  }

  die(): void {
    this.body.goOffline('abruptly', this.#now())
  }

  #begin(body: ProgramClient): string {
    const before = this.#current.get(body)
    if (before?.state === 'connecting') before.state = 'unsure'
    const existence: Existence = {
      will: `${this.id}.${++this.#made}`,
      state: 'connecting',
      endedAtMs: 0,
      wasCut: false,
      arrivals: [],
    }
    this.existences.push(existence)
    this.#current.set(body, existence)
    return existence.will
  }

  #settle(body: ProgramClient, state: 'alive' | 'dead'): void {
    const existence = this.#current.get(body)
    if (existence === undefined) return
    if (state === 'alive') existence.state = 'alive'
    else if (existence.state === 'alive') this.#end(body, existence, 'dead')
  }

  #end(body: ProgramClient, existence: Existence, state: 'left' | 'dead' | 'unsure'): void {
    existence.state = state
    existence.endedAtMs = this.#now()
    existence.wasCut = this.#isCut(body)
  }
}

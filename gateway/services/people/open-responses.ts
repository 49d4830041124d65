import type { ServerResponse } from 'node:http'
import type { Events } from '#gateway/events.ts'
import type { Login } from './login.ts'

/**
 * Answers that are still being sent: cut off at once when whoever asked is not let in any more, or another acts now.
 */
export class OpenResponses {
  readonly #open = new Map<ServerResponse, Login>()

  constructor(events: Events) {
    for (const name of ['keyRevoked', 'sessionEnded', 'sessionChanged'] as const) events.on(name, () => this.#cutOff())
  }

  /** Remembers an answer until it is over. */
  watch(login: Login, outgoing: ServerResponse): void {
    this.#open.set(outgoing, login)
    outgoing.once('close', () => this.#open.delete(outgoing))
    // what let it in may have become void while the answer was made
    if (!isStill(login)) outgoing.destroy()
  }

  #cutOff(): void {
    for (const [outgoing, login] of this.#open) if (!isStill(login)) outgoing.destroy()
  }
}

function isStill(login: Login): boolean {
  return login.callerNow()?.userId === login.caller.userId
}

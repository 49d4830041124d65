import type { ServerResponse } from 'node:http'
import type { Events } from '#gateway/events.ts'
import type { Login } from './login.ts'

/** Open responses; aborted when the caller loses access, or when another user is signed in. */
export class OpenResponses {
  readonly #open = new Map<ServerResponse, Login>()

  constructor(events: Events) {
    for (const name of ['keyRevoked', 'sessionEnded', 'sessionChanged'] as const) events.on(name, () => this.#cutOff())
  }

  watch(login: Login, outgoing: ServerResponse): void {
    this.#open.set(outgoing, login)
    outgoing.once('close', () => this.#open.delete(outgoing))
    // the caller may have lost access while the response was made
    if (!isStill(login)) outgoing.destroy()
  }

  #cutOff(): void {
    for (const [outgoing, login] of this.#open) if (!isStill(login)) outgoing.destroy()
  }
}

function isStill(login: Login): boolean {
  return login.callerNow()?.userId === login.caller.userId
}

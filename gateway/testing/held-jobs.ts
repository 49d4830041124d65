import { type Mock, mock } from 'node:test'
import { Worker } from 'node:worker_threads'
import type { ReaderRequest } from '#store/readers/messages.ts'

/** Proxy between the gateway and its reader threads: shows the jobs, and holds them back for a while. */
export class HeldJobs {
  readonly #posting: Mock<Worker['postMessage']>
  readonly #post = Worker.prototype.postMessage
  readonly given: ReaderRequest[] = []
  #held: (() => void)[] | undefined

  constructor() {
    const jobs = this
    const post = this.#post
    this.#posting = mock.method(Worker.prototype, 'postMessage', function (this: Worker, message: unknown) {
      if (!isReaderRequest(message)) return post.call(this, message)
      jobs.given.push(message)
      if (jobs.#held === undefined) post.call(this, message)
      else jobs.#held.push(() => post.call(this, message))
    })
  }

  hold(): void {
    this.given.length = 0
    this.#held ??= []
  }

  /** Releases the held jobs, and continues to hold new ones. */
  pass(): void {
    for (const post of this.#held?.splice(0) ?? []) post()
  }

  release(): void {
    this.pass()
    this.#held = undefined
  }

  /** Releases everything permanently. */
  end(): void {
    this.release()
    this.#posting.mock.restore()
  }
}

/** Automatic jobs of the gateway, which are never held. */
const BY_ITSELF: readonly unknown[] = ['roundState']

function isReaderRequest(message: unknown): message is ReaderRequest {
  if (typeof message !== 'object' || message === null || !('name' in message)) return false
  return !('kind' in message) && !BY_ITSELF.includes(message.name)
}

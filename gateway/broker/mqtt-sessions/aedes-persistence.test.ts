import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
// suite that every persistence of Aedes must pass, from the package of its in-memory one
import runPublicSuite from 'aedes-persistence/abstract.js'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { Connection } from '#store/db/connection.ts'
import { migrate } from '#store/migrate.ts'
import { applySessionChange, loadMqttSessions } from '#store/tables/mqtt-sessions.ts'
import { openForSetup } from '#store/writer/open.ts'
import { AedesPersistence } from './aedes-persistence.ts'
import { type SessionLimits, Sessions } from './sessions.ts'

const LIMITS: SessionLimits = {
  outbox: { inFlight: 100, messages: 10_000, bytes: 10_000_000 },
  queued: { messages: 10_000, bytes: 10_000_000 },
  retained: { messages: 10_000, bytes: 10_000_000 },
  expiryDays: 30,
}

/** Persistence on a new database, which can be closed and opened again. */
class Opened {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-persistence-'))
  persistence: AedesPersistence | undefined
  #connection: Connection | undefined
  #sessions: Sessions | undefined

  async open(): Promise<AedesPersistence> {
    const connection = openForSetup(join(this.dataDir, 'cartbarn.db'))
    migrate(connection)
    const write = connection.db.transaction((changes: readonly SessionChange[]) => {
      for (const change of changes) applySessionChange(connection, change)
    })
    const sessions = new Sessions(
      {
        load: () => loadMqttSessions(connection),
        append: (changes, onStored) => {
          write(changes)
          onStored()
        },
      },
      LIMITS,
    )
    await sessions.start()
    this.#connection = connection
    this.#sessions = sessions
    this.persistence = new AedesPersistence(sessions, ({ id }) => sessions.get(id))
    return this.persistence
  }

  async close(): Promise<void> {
    await this.#sessions?.stop()
    this.#connection?.close()
  }

  async delete(): Promise<void> {
    await this.close()
    rmSync(this.dataDir, { recursive: true, force: true })
  }
}

const READS = new Set(['subscriptionsByClient', 'subscriptionsByTopic', 'countOffline', 'incomingGetPacket', 'getWill'])
const STREAMS = new Set([
  'createRetainedStream',
  'createRetainedStreamCombi',
  'outgoingStream',
  'streamWill',
  'getClientList',
])

/** Creates a persistence that is closed and opened again before the first read after a write. */
function createRestarting(opened: Opened): object {
  let broker = { id: '' }
  let isWritten = false

  const current = () => opened.persistence as unknown as Record<string, (...args: unknown[]) => unknown>
  const restart = async () => {
    if (!isWritten) return
    isWritten = false
    await opened.close()
    const persistence = await opened.open()
    await persistence.setup(broker)
  }
  const stream = (name: string, args: unknown[]) =>
    Readable.from(
      (async function* () {
        await restart()
        // each of them returns a stream
        yield* current()[name]?.(...args) as Readable
      })(),
    )
  const call = async (name: string, args: unknown[]) => {
    if (READS.has(name)) await restart()
    else isWritten = true
    return current()[name]?.(...args)
  }
  const own = {
    async setup(given: { id: string }) {
      broker = given
      await opened.persistence?.setup(given)
    },
    async destroy() {
      await opened.persistence?.destroy()
      await opened.delete()
    },
    get broker() {
      return broker
    },
  }
  return new Proxy(own, {
    get(target, name: string) {
      if (name in target) return Reflect.get(target, name)
      if (name === 'then') return undefined
      return (...args: unknown[]) => (STREAMS.has(name) ? stream(name, args) : call(name, args))
    },
  })
}

describe('the public suite of aedes-persistence', () => {
  runPublicSuite({
    test,
    testAsync: true,
    persistence: async () => {
      const opened = new Opened()
      const persistence = await opened.open()
      const destroy = persistence.destroy.bind(persistence)
      return Object.assign(persistence, {
        destroy: async () => {
          await destroy()
          await opened.delete()
        },
      })
    },
  })
})

describe('the public suite of aedes-persistence, with a restart in the middle', () => {
  runPublicSuite({
    test,
    testAsync: true,
    persistence: async () => {
      const opened = new Opened()
      await opened.open()
      return createRestarting(opened)
    },
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import type { StoredMessage, StoredSessions } from '#domain/mqtt-sessions.ts'
import { Connection } from '#store/db/connection.ts'
import { migrate } from '#store/migrate.ts'
import { applySessionChange, loadMqttSessions } from '#store/tables/mqtt-sessions.ts'
import type { SessionConnection } from './session.ts'
import { type SessionJournal, type SessionLimits, Sessions } from './sessions.ts'

const LIMITS: SessionLimits = {
  outbox: { inFlight: 2, messages: 4, bytes: 10_000 },
  queued: { messages: 6, bytes: 100_000 },
  retained: { messages: 2, bytes: 10_000 },
  expiryDays: 1,
}

class Sink implements SessionConnection {
  readonly isReady = true

  sendOnce(): boolean {
    return true
  }

  hasRoom(): boolean {
    return true
  }

  sendPublish(): void {
    // the client has received it and not answered
  }

  sendRelease(): void {
    // not answered either
  }
}

/** Journal that stores changes after a delay, and twice as after a failed batch; in order either way. */
class Disk implements SessionJournal {
  readonly #connection = new Connection(new Database(':memory:'))
  readonly #waiting: (() => void)[] = []

  constructor() {
    migrate(this.#connection)
  }

  load(): StoredSessions {
    return loadMqttSessions(this.#connection)
  }

  append(...[changes, onStored]: Parameters<SessionJournal['append']>): void {
    // what is written later must not include later changes
    const written = structuredClone(changes)
    this.#waiting.push(() => {
      for (let time = 0; time < 2; time++) {
        for (const change of written) applySessionChange(this.#connection, change)
      }
      onStored()
    })
  }

  write(count = Number.POSITIVE_INFINITY): void {
    for (let i = 0; i < count; i++) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      next()
    }
  }

  close(): void {
    this.#connection.close()
  }
}

/** Returns the state in memory, in the shape and order of loaded state. */
function snapshot(sessions: Sessions): StoredSessions {
  const all = [...sessions.all()].sort((a, b) => (a.clientId < b.clientId ? -1 : 1))
  return {
    sessions: all.map(({ clientId, owner, idleHours }) => ({ clientId, owner, idleHours })),
    subscriptions: all.flatMap(({ subscriptions }) =>
      [...subscriptions.values()]
        .map(({ holder: _, ...subscription }) => subscription)
        .sort((a, b) => (a.topicFilter < b.topicFilter ? -1 : 1)),
    ),
    queued: all
      .flatMap(({ clientId, outbox }) =>
        [...outbox.entries()].map(({ seq, packetId, isReleased, message }) => ({
          seq,
          clientId,
          packetId,
          isReleased,
          message,
        })),
      )
      .sort((a, b) => a.seq - b.seq),
    received: all.flatMap(({ clientId, received }) =>
      [...received].sort(([a], [b]) => a - b).map(([packetId, extra]) => ({ clientId, packetId, extra })),
    ),
    retained: [...sessions.retained.matching(['#'])],
    wills: [...sessions.wills.values()].sort((a, b) => (a.clientId < b.clientId ? -1 : 1)),
  }
}

const clientId = fc.constantFrom('a', 'b', 'c')
const topic = fc.constantFrom('dev/x/st', 'shop/1', 'shop/2', 'shop/3')
const payload = fc.constantFrom('', 'text')

const KINDS = [
  'open',
  'leave',
  'discard',
  'subscribe',
  'unsubscribe',
  'publish',
  'publish',
  'publish',
  'acknowledge',
  'release',
  'receive',
  'complete',
  'completeAll',
  'will',
  'unwill',
  'age',
  'recheck',
  'write',
  'write',
  'restart',
] as const

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    clientId,
    topic,
    payload,
    at: fc.nat(5),
    qos: fc.nat(2),
    isRetained: fc.boolean(),
  }),
  { maxLength: 60 },
)

test('after any sequence of events a restart restores the state in memory', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const disk = new Disk()
      let sessions = new Sessions(disk, LIMITS)
      await sessions.start()
      const restart = async () => {
        await sessions.stop()
        disk.write()
        const before = snapshot(sessions)
        sessions = new Sessions(disk, LIMITS)
        await sessions.start()
        assert.deepEqual(snapshot(sessions), before)
      }
      for (const { kind, clientId: id, at, qos, isRetained, ...fields } of history) {
        const session = sessions.get(id)
        const message: StoredMessage = { ...fields, qos, isRetained, extra: null }
        const packetId = at + 1
        if (kind === 'open') {
          const sink = new Sink()
          const opened = session ?? sessions.create(id, `owner of ${id}`)
          sessions.enter(opened, sink)
          opened.outbox.attach(sink)
        } else if (kind === 'publish') {
          const routed = sessions.route(
            message,
            sessions.match(message.topic, () => true),
          )
          disk.append(routed.changes, routed.commit, routed.abandon)
        } else if (kind === 'will') {
          void sessions.putWill({ clientId: id, owner: id, message })
        } else if (kind === 'unwill') void sessions.deleteWill(id)
        else if (kind === 'age') for (let hour = 0; hour < 10; hour++) sessions.ageSessions()
        else if (kind === 'write') disk.write(at)
        else if (kind === 'restart') await restart()
        else if (session === undefined) continue
        else if (kind === 'leave' && session.connection !== undefined) sessions.leave(session, session.connection)
        else if (kind === 'discard') void sessions.discard(id)
        else if (kind === 'subscribe')
          void sessions.subscribe(session, [
            { clientId: id, topicFilter: at < 2 ? '#' : fields.topic, qos, extra: null },
          ])
        else if (kind === 'unsubscribe') void sessions.unsubscribe(session, [fields.topic, '#'].slice(at % 2))
        else if (kind === 'receive') void sessions.receive(session, packetId, null)
        else if (kind === 'complete') void sessions.complete(session, packetId)
        else if (kind === 'completeAll') void sessions.completeAll(session)
        else if (kind === 'recheck') sessions.recheck(session, (each) => each !== fields.topic)
        else if (kind === 'acknowledge' || kind === 'release') {
          const entry = [...session.outbox.entries()][at]
          if (entry === undefined) continue
          if (kind === 'release') void sessions.release(session, entry.packetId)
          else sessions.acknowledge(session, entry.packetId, entry.message.qos > 1)
        }
      }
      await restart()
      await sessions.stop()
      disk.write()
      disk.close()
    }),
    { numRuns: 300 },
  )
})

test('a stored, acknowledged message gives way to the one that now has its packet identifier', async () => {
  const disk = new Disk()
  const opened = { kind: 'opened', clientId: 'a', owner: 'owner of a' } as const
  const queued = (seq: number, packetId: number) => {
    const message: StoredMessage = {
      topic: 'shop/1',
      payload: `${seq}`,
      qos: 1,
      isRetained: false,
      extra: null,
    }
    return { kind: 'queued', seq, clientId: 'a', packetId, isReleased: false, message } as const
  }
  disk.append([opened, queued(1, 7), queued(2, 8), queued(3, 7)], () => undefined, assert.fail)
  disk.write()
  const sessions = new Sessions(disk, LIMITS)
  await sessions.start()
  const outbox = sessions.get('a')?.outbox
  assert.deepEqual(
    Array.from(outbox?.entries() ?? [], ({ seq }) => seq),
    [2, 3],
  )
  assert.equal(outbox?.reservePacketId(), 9)
  await sessions.stop()
  disk.write()
  assert.deepEqual(
    disk.load().queued.map(({ seq }) => seq),
    [2, 3],
  )
  disk.close()
})

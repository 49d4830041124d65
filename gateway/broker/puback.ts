import type { PublishPacket } from 'aedes'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { Connection, Identity } from './connection.ts'
import type { Intake } from './intake.ts'

interface PubackOptions {
  /** Charges the budget of the owner for the readings in a message. */
  spend: (items: number) => void
  /** Marks a will as published; undefined for a message that the client sent itself. */
  spendWill: (() => SessionChange[]) | undefined
  refuse: (reason: string) => void
  /** Callback of Aedes: after a call without an error, it immediately writes PUBACK, or PUBREC for QoS 2. */
  done: (error?: Error | null) => void
}

/**
 * Passes a PUBLISH to the intake and acknowledges it once it is on the disk, never before. A refused message closes the
 * connection instead; if the connection has ended, the message is stored and not acknowledged [MQTT-4.3.2-2].
 */
export function acknowledgeWhenStored<Login>(
  intake: Intake<Login>,
  connection: Connection<Login>,
  identity: Identity<Login>,
  packet: PublishPacket,
  { spend, spendWill, refuse, done }: PubackOptions,
): void {
  connection.receivedPublish(packet)
  connection.storing++
  const isAlone = connection.storing === 1 && connection.running === 0
  const items = intake.take(
    identity,
    packet,
    { isAlone, spendWill },
    () => {
      connection.storing--
      const isTooLate = connection.client.closed && spendWill === undefined
      done(isTooLate ? new Error('connection closed') : null)
    },
    (reason) => {
      connection.storing--
      refuse(reason)
      done(new Error(reason))
    },
  )
  spend(items)
}

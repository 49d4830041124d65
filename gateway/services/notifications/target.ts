import type { NotifierChannel } from '#shared/wire/notifiers.ts'

export type Channel = 'webhook' | NotifierChannel
export const CHANNELS: readonly Channel[] = ['webhook', 'email', 'ntfy', 'telegram']

/** Message to send, with its body. */
export interface Outgoing {
  /** Unchanged at a retry. */
  readonly deliveryId: string
  /** Null for a test. */
  readonly alertId: string | null
  /** JSON, as queued. */
  readonly body: string
}

export interface Sending {
  /** True if the message is sent long after its time. */
  readonly isLate: boolean
  readonly signal: AbortSignal
}

export interface Target {
  readonly targetId: string
  readonly channel: Channel
  /**
   * Delay after an alert was opened, which gathers others that open soon after it into one message; null for a target
   * that gets every change immediately and separately, in order for each alert.
   */
  readonly waitMs: number | null
  readonly attemptMs: number
  /** Rejects with a readable reason. */
  send(outgoing: readonly [Outgoing, ...Outgoing[]], sending: Sending): Promise<void>
}

export interface TargetStatus {
  lastSuccessAtMs: number | null
  /** Readable reason of the last failure; null after a success. */
  lastError: string | null
}

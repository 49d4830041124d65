import type { AckStatus, CommandStatus } from '#shared/wire/commands.ts'

/** Why the gateway ends a command that a device might still have obeyed. */
export const FAILURE_REASONS = [
  'superseded',
  'device_removed',
  'cart_is_moving',
  'position_unknown',
  'admin_required',
] as const
export type CommandFailure = (typeof FAILURE_REASONS)[number]

/** How far a command has come. */
export interface CommandProgress {
  status: CommandStatus
  publishedAtMs: number | null
  acknowledgedAtMs: number | null
  completedAtMs: number | null
  error: string | null
  lateAck: LateAcknowledgement | null
}

/** What a device said about a command that was over. */
export interface LateAcknowledgement {
  status: AckStatus
  error: string | null
  atMs: number
}

/** What can happen to a command. */
export type CommandEvent =
  | { kind: 'published'; atMs: number }
  | { kind: 'acked'; status: AckStatus; error: string | null; atMs: number }
  | { kind: 'expired' }
  | { kind: 'failed'; error: CommandFailure }

/** States in which something may still happen. */
const UNFINISHED: readonly CommandStatus[] = ['pending', 'published', 'acknowledged']

/** What makes a cart stand where it is: it is judged before it is sent. */
export const LOCK = 'lock'

/** Of these a newer one takes the place of an older one that was not sent yet: the last command counts. */
export const SUPERSEDABLE: readonly string[] = [LOCK, 'unlock']

/** Whether a command locks or unlocks: everybody who sees the device is to know. */
export function isOfLock({ command }: { command: string }): boolean {
  return SUPERSEDABLE.includes(command)
}

export function isFinal(status: CommandStatus): boolean {
  return !UNFINISHED.includes(status)
}

/** A command that was just asked for. */
export const NEW_COMMAND: Readonly<CommandProgress> = {
  status: 'pending',
  publishedAtMs: null,
  acknowledgedAtMs: null,
  completedAtMs: null,
  error: null,
  lateAck: null,
}

/**
 * Where an event leads to; null when it changes nothing. Final states never change: an ack that comes after the end is
 * kept as `lateAck`, unless it only repeats what ended the command.
 */
export function advance(progress: CommandProgress, event: CommandEvent): CommandProgress | null {
  switch (event.kind) {
    case 'published':
      return publish(progress, event.atMs)
    case 'acked':
      return isFinal(progress.status) ? ackLate(progress, event) : ack(progress, event)
    case 'expired':
      return isFinal(progress.status) ? null : { ...progress, status: 'timeout' }
    case 'failed':
      return isFinal(progress.status) ? null : { ...progress, status: 'failed', error: event.error }
  }
}

function publish(progress: CommandProgress, atMs: number): CommandProgress | null {
  if (progress.status === 'pending') return { ...progress, status: 'published', publishedAtMs: atMs }
  // the device was quicker than the note that it was asked: `ack` had to guess
  const isGuessed = progress.publishedAtMs !== null && atMs < progress.publishedAtMs
  return isGuessed ? { ...progress, publishedAtMs: atMs } : null
}

type Ack = Extract<CommandEvent, { kind: 'acked' }>

function ack(progress: CommandProgress, { status, error, atMs }: Ack): CommandProgress | null {
  if (status === progress.status) return null
  const answered = {
    ...progress,
    status,
    // an answer proves that it was sent, though it is not noted yet when
    publishedAtMs: progress.publishedAtMs ?? atMs,
    acknowledgedAtMs: progress.acknowledgedAtMs ?? atMs,
  }
  if (status === 'completed') return { ...answered, completedAtMs: atMs }
  return status === 'failed' ? { ...answered, error: error ?? 'refused' } : answered
}

function ackLate(progress: CommandProgress, { status, error, atMs }: Ack): CommandProgress | null {
  // MQTT delivers at least once: what the device said in time may come again
  const wasAnswered = progress.acknowledgedAtMs !== null
  if (wasAnswered && (status === progress.status || status === 'acknowledged')) return null
  const { lateAck } = progress
  if (lateAck !== null && (status === lateAck.status || status === 'acknowledged')) return null
  return { ...progress, lateAck: { status, error, atMs } }
}

import type { Appendable } from '#store/writer/appender.ts'
import type { UplinkMessage } from './message.ts'
import { MessageBatch } from './message-batch.ts'

/** Entry of the write queue: a message of a device, a batch from the fast path, or a write of the broker alone. */
export type QueuedMessage = UplinkMessage | MessageBatch | Appendable

export function isUplink(message: QueuedMessage): message is UplinkMessage {
  return 'content' in message
}

export function isOfDevice(message: QueuedMessage): message is UplinkMessage | MessageBatch {
  return 'device' in message
}

export function isRun(message: QueuedMessage): message is MessageBatch {
  return message instanceof MessageBatch
}

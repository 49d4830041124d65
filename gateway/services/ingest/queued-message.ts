import type { Appendable } from '#store/writer/appender.ts'
import type { UplinkMessage } from './message.ts'
import { MessageBatch } from './message-batch.ts'

/** What waits for the disk: a device's message, or many of the fast lane, or what the broker alone has to write. */
export type QueuedMessage = UplinkMessage | MessageBatch | Appendable

export function isUplink(message: QueuedMessage): message is UplinkMessage {
  return 'content' in message
}

/** Whether it is one message of a device, or many. */
export function isOfDevice(message: QueuedMessage): message is UplinkMessage | MessageBatch {
  return 'device' in message
}

export function isRun(message: QueuedMessage): message is MessageBatch {
  return message instanceof MessageBatch
}

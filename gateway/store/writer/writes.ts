import * as cartCalls from '../calls/cart-calls.ts'
import type { Write } from '../db/audit.ts'
import * as cursors from '../ledger/cursors.ts'
import * as mailReports from '../mail-reports/mail-reports.ts'
import * as messages from '../messages/messages.ts'
import * as readyTexts from '../messages/ready-texts.ts'
import * as parties from '../parties/parties.ts'
import * as acknowledge from '../replication/acknowledge.ts'
import * as intents from '../replication/intents.ts'
import * as service from '../service/service.ts'
import * as serviceUsage from '../service/usage.ts'
import * as alerts from '../tables/alerts.ts'
import * as auditLog from '../tables/audit-log.ts'
import * as cartMotion from '../tables/cart-motion.ts'
import * as cartNotes from '../tables/cart-notes.ts'
import * as clockMark from '../tables/clock-mark.ts'
import * as closing from '../tables/closing.ts'
import * as commands from '../tables/commands.ts'
import * as course from '../tables/course.ts'
import * as coursePieces from '../tables/course-chunks.ts'
import * as deliveries from '../tables/deliveries.ts'
import * as deviceConfigs from '../tables/device-configs.ts'
import * as deviceImport from '../tables/device-import.ts'
import * as deviceTypes from '../tables/device-types.ts'
import * as devices from '../tables/devices.ts'
import * as erasure from '../tables/erasure.ts'
import * as eventDeletion from '../tables/event-deletion.ts'
import * as geofences from '../tables/geofences.ts'
import * as groups from '../tables/groups.ts'
import * as machine from '../tables/machine.ts'
import * as newCommands from '../tables/new-commands.ts'
import * as notifiers from '../tables/notifiers.ts'
import * as outbox from '../tables/outbox.ts'
import * as pinTries from '../tables/pin-tries.ts'
import * as quarantine from '../tables/quarantine.ts'
import * as recall from '../tables/recall.ts'
import * as secrets from '../tables/secrets.ts'
import * as sessions from '../tables/sessions.ts'
import * as site from '../tables/site.ts'
import * as users from '../tables/users.ts'
import * as webhooks from '../tables/webhooks.ts'
import * as zoneExempts from '../tables/zone-exempts.ts'
import * as zones from '../tables/zones.ts'
import * as telemetryBlocks from '../telemetry/blocks.ts'
import * as telemetryDamagedBlocks from '../telemetry/damaged-blocks.ts'
import * as telemetryDeletion from '../telemetry/deletion.ts'
import * as telemetryBlocksAside from '../telemetry/detached-blocks.ts'
import * as telemetryErasure from '../telemetry/erasure.ts'
import * as telemetryLogRow from '../telemetry/log-row.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import * as telemetryMakeRoom from '../telemetry/make-room.ts'
import * as telemetryStoreSamples from '../telemetry/store-samples.ts'

const modules = {
  ...cursors,
  ...acknowledge,
  ...intents,
  ...alerts,
  ...auditLog,
  ...cartCalls,
  ...cartMotion,
  ...cartNotes,
  ...clockMark,
  ...closing,
  ...commands,
  ...course,
  ...coursePieces,
  ...deliveries,
  ...deviceConfigs,
  ...deviceImport,
  ...deviceTypes,
  ...devices,
  ...erasure,
  ...eventDeletion,
  ...geofences,
  ...groups,
  ...machine,
  ...newCommands,
  ...notifiers,
  ...outbox,
  ...parties,
  ...pinTries,
  ...quarantine,
  ...readyTexts,
  ...mailReports,
  ...messages,
  ...recall,
  ...secrets,
  ...service,
  ...serviceUsage,
  ...sessions,
  ...site,
  ...users,
  ...webhooks,
  ...zoneExempts,
  ...zones,
  ...telemetryBlocks,
  ...telemetryBlocksAside,
  ...telemetryDamagedBlocks,
  ...telemetryDeletion,
  ...telemetryErasure,
  ...telemetryLogRow,
  ...telemetryMakeRoom,
  ...telemetryStoreSamples,
}

type Modules = typeof modules
export type WriteName = {
  // biome-ignore lint/suspicious/noExplicitAny: any write
  [Name in keyof Modules]: Modules[Name] extends Write<any, any, any> ? Name : never
}[keyof Modules]

/** All writes of the API and the services by name; each runs in the writer thread in a transaction of its own. */
export const writes = Object.fromEntries(
  Object.entries(modules).filter(([, value]) => typeof value === 'function' && 'audit' in value),
) as unknown as Pick<Modules, WriteName>

export type WriteInput<Name extends WriteName> = Parameters<Modules[Name]>[1]
export type NamedWrite = { [Name in WriteName]: { name: Name; input: WriteInput<Name> } }[WriteName]
export type WriteResult<Name extends WriteName> = ReturnType<Modules[Name]>

/** Write of this name. The pair comes from `Store.write`, which accepts only an input that fits its name. */
export function writeOf(name: WriteName): Write<WriterTables, unknown, unknown> {
  return writes[name] as unknown as Write<WriterTables, unknown, unknown>
}

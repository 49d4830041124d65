import { z } from 'zod'
import { deviceListSchema, deviceSchema, siteDeviceListQuerySchema } from './devices.ts'
import { oneLine } from './schema/name.ts'
import {
  dateParam,
  hardwareIdSchema,
  idPageQuerySchema,
  isoSchema,
  paginationSchema,
  stringListParam,
} from './schema/params.ts'
import { keyWarningSchema } from './users.ts'

/** Site id in paths, in keys and in the tables of the hub. */
const siteIdSchema = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits and hyphens')
  .meta({ description: 'Permanent id of the site: 1 to 32 lower-case letters, digits and hyphens.', example: 'north' })

const NAME = { description: 'Display name.', example: 'North course' }
const nameSchema = oneLine.min(1).meta(NAME)

export const siteParams = z.object({ site: z.string().meta({ description: 'site_id', example: 'north' }) })
export const siteDeviceParams = siteParams.extend({
  id: z.string().meta({ description: 'hardware_id or short_id', example: 'cart-07' }),
})

export const newSiteSchema = z
  .strictObject({
    site_id: siteIdSchema.optional().meta({ description: 'Id of the site; by default derived from the name.' }),
    name: nameSchema,
  })
  .meta({ id: 'NewSite' })

export const sitePatchSchema = z.strictObject({ name: nameSchema.optional() }).meta({ id: 'SitePatch' })

const siteKeySchema = z.string().meta({
  description: 'Key with which the gateway of the site replicates. Shown only in this response, stored as a hash.',
  example: 'cbs_north_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG',
})
export const issuedSiteSchema = z
  .object({
    site_id: siteIdSchema,
    name: z.string().meta(NAME),
    key: siteKeySchema,
    warning: keyWarningSchema,
  })
  .meta({ id: 'IssuedSite' })

export const rotatedSiteKeySchema = z
  .object({ success: z.literal(true), site_id: siteIdSchema, key: siteKeySchema, warning: keyWarningSchema })
  .meta({ id: 'RotatedSiteKey' })

export const revokedSiteKeysSchema = z.object({
  success: z.literal(true),
  revoked: z.number().int().meta({ description: 'Number of revoked keys.', example: 1 }),
})

/** States of a site, worst first. */
const SITE_STATES = [
  'two_gateways',
  'never_seen',
  'silent',
  'full',
  'quarantined',
  'behind',
  'comparing',
  'ok',
] as const
const siteStateSchema = z.enum(SITE_STATES).meta({
  description:
    'State of the site. two_gateways: two gateways push as this site. never_seen: no gateway has connected yet. ' +
    'silent: no request for two minutes. full: the storage limit of the site is reached. quarantined: the hub ' +
    'could not read a batch. behind: the hub lacks more than ten minutes of data. comparing: the hub may have lost ' +
    'data; gateway and hub compare everything.',
})
export type SiteState = z.infer<typeof siteStateSchema>

const rowsSchema = z.number().int().min(0).meta({ description: 'Number of records and events.', example: 306_179 })

export const siteSchema = z
  .object({
    site_id: siteIdSchema,
    name: z.string().meta(NAME),
    created_at: isoSchema,
    state: siteStateSchema,
    explanation: z.string().meta({
      description: 'State as a sentence with details.',
      example: 'All is well: last contact 4 seconds ago, all data is here except that of the last seconds.',
    }),
    warnings: z.array(z.enum(['two_gateways', 'full', 'nearly_full', 'quarantined', 'clock'])).meta({
      description:
        'Problems that need an operator. nearly_full: more than 90 % of the storage limit of the site is used. ' +
        'clock: the clocks of gateway and hub differ by a minute or more.',
    }),
    devices: z.number().int().meta({ description: 'Number of devices of the site.', example: 72 }),
    freshness: z.object({
      last_seen: isoSchema.nullable().meta({ description: 'Time of the last request of its gateway; null for never.' }),
      seconds: z.number().nullable().meta({ description: 'Seconds since the last request.', example: 4 }),
    }),
    backlog: z.object({
      rows: rowsSchema
        .nullable()
        .meta({ description: 'Number of records that its gateway has not sent yet; null before its first report.' }),
      oldest: isoSchema.nullable().meta({ description: 'Time of the oldest of them.' }),
    }),
    unconfirmed_rows: rowsSchema.nullable().meta({
      description:
        'Rows that the hub may have lost, for example when it was restored from a backup, until they are ' +
        'compared; null while they are not counted.',
      example: 0,
    }),
    storage: z
      .object({
        bytes: z.number().int().meta({
          description: 'Storage used by the site in bytes: the last count plus later additions.',
          example: 1_520_000_000,
        }),
        max_bytes: z.number().int().nullable().meta({
          description: 'CARTBARN_HUB_SITE_MAX_GB in bytes; null for no limit.',
          example: 100_000_000_000,
        }),
      })
      .meta({
        description: 'Storage of the site, including data that the site erased and the hub has archived.',
      }),
    gaps: z.object({
      count: z
        .number()
        .int()
        .meta({ description: 'Number of times that records were dropped before they were sent.', example: 0 }),
      rows: rowsSchema.meta({ description: 'Upper bound of the number of records lost permanently.' }),
    }),
    audit: z
      .object({
        audited_at: isoSchema.meta({ description: 'Time of the newest comparison.' }),
        rows: rowsSchema.meta({ description: 'Number of rows at the gateway, by the last comparison of each day.' }),
        confirmed: rowsSchema.meta({ description: 'Number of these rows on days without a difference.' }),
        missing: z.number().int().meta({
          description: 'Number of groups with missing rows, which are being resent.',
          example: 0,
        }),
        extra: z.number().int().meta({
          description: 'Number of rows at the hub that the gateway does not have.',
          example: 0,
        }),
        summary: z.string().meta({ description: 'Result in words.', example: '306,179 of 306,179' }),
      })
      .nullable()
      .meta({ description: 'Result of the row-by-row comparison; null before the first one.' }),
    clock: z.object({
      offset_ms: z.number().int().nullable().meta({
        description: 'Offset of its clock in milliseconds, positive if it is ahead of the hub, by its last report.',
        example: 12,
      }),
      is_trusted: z.boolean().nullable().meta({ description: 'True if the gateway trusts its own clock.' }),
    }),
    program: z
      .string()
      .nullable()
      .meta({ description: 'Program and version of its gateway.', example: 'cartbarn 1.0.0' }),
    epochs: z
      .array(
        z.object({
          epoch: z
            .string()
            .meta({ description: 'Epoch: the lifetime of one database.', example: '0f0e0d0c0b0a09080706050403020100' }),
          forked_from: z
            .string()
            .nullable()
            .meta({ description: 'Preceding epoch, from which it was forked by a restore or by a second gateway.' }),
          reason: z
            .string()
            .nullable()
            .meta({ description: 'Readable reason for its start.', example: 'restored from a backup' }),
          first_seen: isoSchema,
          last_seen: isoSchema,
        }),
      )
      .meta({ description: 'Epochs, newest first.' }),
    keys: z.number().int().meta({ description: 'Number of valid keys.', example: 1 }),
  })
  .meta({ id: 'Site' })
export type SiteJson = z.infer<typeof siteSchema>

export const siteListSchema = z
  .object({ sites: z.array(siteSchema), pagination: paginationSchema })
  .meta({ id: 'SiteList' })
export const siteListQuerySchema = idPageQuerySchema

export const gapListSchema = z.object({
  gaps: z.array(
    z.object({
      note_id: z.string().meta({ description: 'Id, unique within the site.' }),
      stream: z.string().meta({ description: 'Stream: gps or battery.', example: 'gps' }),
      from: isoSchema.meta({ description: 'Time of the oldest missing record.' }),
      to: isoSchema.meta({ description: 'Time of the newest missing record.' }),
      rows: rowsSchema.meta({ description: 'Upper bound of the number of records.' }),
      reason: z.string().meta({ description: 'Reason: purge, disk or damage.', example: 'disk' }),
      recorded_at: isoSchema.meta({ description: 'Time at which they were dropped.' }),
    }),
  ),
  pagination: paginationSchema,
})

const quarantineEntrySchema = z
  .object({
    quarantine_id: z.string().meta({ description: 'Id, unique within the site.' }),
    epoch: z.string().meta({ description: 'Epoch of the gateway that sent it.' }),
    stream: z.string().meta({ description: 'Stream of the data.', example: 'telemetry' }),
    from: z.number().int().meta({ description: 'Position after which it begins.', example: 4711 }),
    to: z.number().int().meta({ description: 'Last position.', example: 4811 }),
    reason: z.string().meta({ description: 'Readable reason for which it could not be applied.' }),
    bytes: z.number().int().meta({ description: 'Size as sent, in bytes.', example: 2048 }),
    received_at: isoSchema,
  })
  .meta({ id: 'QuarantineEntry' })

export const quarantineListSchema = z.object({
  entries: z.array(quarantineEntrySchema).meta({ description: 'Entries, newest first.' }),
  pagination: paginationSchema,
})
export const quarantineParams = siteParams.extend({ id: z.string().meta({ description: 'quarantine_id' }) })

/** Query of a deletion of archived data up to a time, which `description` names. */
function throughQuery(description: string) {
  return z.object({ through: dateParam.meta({ description, example: '2026-05-01T08:30:00.000Z' }) })
}

export const clearQuarantineQuerySchema = throughQuery('Upper time limit, by the clock of the hub.')
export const clearedQuarantineSchema = z
  .object({
    success: z.literal(true).meta({ description: 'Always true.' }),
    cleared: z.number().int().meta({ description: 'Number of deleted entries.', example: 1 }),
  })
  .meta({ id: 'ClearedQuarantine' })

const erasedItemSchema = z
  .object({
    hardware_id: hardwareIdSchema,
    what: z
      .enum(['device', 'gps', 'battery'])
      .meta({ description: 'Archived object: the device itself, or its history of this kind.', example: 'gps' }),
    records: z.number().int().meta({
      description: 'Number of records in the history; 0 for a device.',
      example: 20_411,
    }),
    bytes: z.number().int().meta({ description: 'Size in the database, in bytes.', example: 131_072 }),
    erased_at: isoSchema.meta({ description: 'Time of the erasure, by the clock of the hub.' }),
    deleted_at: isoSchema.meta({ description: 'Time from which it is deleted permanently.' }),
  })
  .meta({ id: 'ErasedItem' })

export const erasedListSchema = z.object({
  erased: z.array(erasedItemSchema).meta({ description: 'Archived data, newest first unless order is given.' }),
  pagination: paginationSchema,
})

export const restoreErasedSchema = z
  .strictObject({
    since: dateParam.meta({
      description: 'Restores data that was erased at this time or later, by the clock of the hub.',
      example: '2026-05-01T08:30:00.000Z',
    }),
    hardware_ids: z
      .array(hardwareIdSchema)
      .min(1)
      .max(1000)
      .optional()
      .meta({ description: 'Limits the operation to these devices; default: all.', example: ['cart-07'] }),
  })
  .meta({ id: 'RestoreErased' })
export const restoredErasedSchema = z
  .object({
    success: z.literal(true).meta({ description: 'Always true.' }),
    devices: z.number().int().meta({ description: 'Number of devices that are listed again.', example: 1 }),
    records: z.number().int().meta({ description: 'Number of restored records.', example: 20_411 }),
  })
  .meta({ id: 'RestoredErased' })

export const deleteErasedQuerySchema = throughQuery('Upper limit of erased_at.')
export const deletedErasedSchema = z
  .object({
    success: z.literal(true).meta({ description: 'Always true.' }),
    deleted: z.number().int().meta({ description: 'Number of permanently deleted blocks and devices.', example: 12 }),
  })
  .meta({ id: 'DeletedErased' })

export const deletedRestoredSchema = z
  .object({
    success: z.literal(true).meta({ description: 'Always true.' }),
    deleted: hardwareIdSchema,
  })
  .meta({ id: 'DeletedRestored' })

/** Devices of all sites in scope, for the map. */
export const hubDeviceListQuerySchema = siteDeviceListQuerySchema.safeExtend({
  site_ids: stringListParam
    .optional()
    .meta({ description: 'Filter by site; repeated or comma-separated.', example: ['north'] }),
})
export const hubDeviceListSchema = z
  .object({
    devices: z.array(deviceSchema.extend({ site_id: siteIdSchema })),
    pagination: deviceListSchema.shape.pagination,
  })
  .meta({ id: 'HubDeviceList' })

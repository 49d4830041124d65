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

/** A site in paths, in keys and in the tables of the head office. */
const siteIdSchema = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits and hyphens')
  .meta({ description: 'For ever; 1 to 32 lower-case letters, digits and hyphens.', example: 'north' })

const NAME = { description: 'For people.', example: 'North course' }
const nameSchema = oneLine.min(1).meta(NAME)

/** The `:site` of the paths of a site. */
export const siteParams = z.object({ site: z.string().meta({ description: 'site_id', example: 'north' }) })
export const siteDeviceParams = siteParams.extend({
  id: z.string().meta({ description: 'hardware_id or short_id', example: 'cart-07' }),
})

export const newSiteSchema = z
  .strictObject({
    site_id: siteIdSchema.optional().meta({ description: 'Made of the name where it is left out.' }),
    name: nameSchema,
  })
  .meta({ id: 'NewSite' })

export const sitePatchSchema = z.strictObject({ name: nameSchema.optional() }).meta({ id: 'SitePatch' })

const siteKeySchema = z.string().meta({
  description: 'What the gateway of the site replicates with. Shown only here; kept as a hash.',
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
  revoked: z.number().int().meta({ description: 'Keys that were good until now.', example: 1 }),
})

/** How a site is doing, the worst first. */
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
    'two_gateways: two gateways push as this site. never_seen: no gateway has connected yet. silent: no request ' +
    'for two minutes. full: the hub keeps as much of the site as it may. quarantined: the hub could not read a ' +
    'part. behind: the hub lacks more than ten minutes of data. comparing: the hub may have lost data that it ' +
    'had; gateway and hub compare all of it.',
})
export type SiteState = z.infer<typeof siteStateSchema>

const rowsSchema = z.number().int().min(0).meta({ description: 'Records and events.', example: 306_179 })

export const siteSchema = z
  .object({
    site_id: siteIdSchema,
    name: z.string().meta(NAME),
    created_at: isoSchema,
    state: siteStateSchema,
    explanation: z.string().meta({
      description: 'The state as a sentence, with details.',
      example: 'All is well: last heard of 4 seconds ago, everything is here.',
    }),
    warnings: z.array(z.enum(['two_gateways', 'full', 'nearly_full', 'quarantined', 'clock'])).meta({
      description:
        'Problems an operator should look at. nearly_full: the hub keeps more than 90 % of what it may of the ' +
        'site. clock: the clocks of gateway and hub differ by a minute or more.',
    }),
    devices: z.number().int().meta({ description: 'Devices of the site.', example: 72 }),
    freshness: z.object({
      last_seen: isoSchema.nullable().meta({ description: 'The last request of its gateway; null for never.' }),
      seconds: z.number().nullable().meta({ description: 'Seconds since then.', example: 4 }),
    }),
    backlog: z.object({
      rows: rowsSchema
        .nullable()
        .meta({ description: 'Records its gateway still has to send; null before its first report.' }),
      oldest: isoSchema.nullable().meta({ description: 'Of the oldest of them.' }),
    }),
    unconfirmed_rows: rowsSchema.nullable().meta({
      description:
        'Rows that the hub may have lost, as after it was restored from a backup, until they were compared; null ' +
        'while they are not counted.',
      example: 0,
    }),
    storage: z
      .object({
        bytes: z.number().int().meta({
          description: 'Bytes the hub keeps of the site: as last counted, and what came since.',
          example: 1_520_000_000,
        }),
        max_bytes: z.number().int().nullable().meta({
          description: 'CARTBARN_HUB_SITE_MAX_GB in bytes; null for no limit.',
          example: 100_000_000_000,
        }),
      })
      .meta({ description: 'Includes what the site erased and the hub keeps aside.' }),
    gaps: z.object({
      count: z
        .number()
        .int()
        .meta({ description: 'How often records were dropped before they were sent.', example: 0 }),
      rows: rowsSchema.meta({ description: 'Records that will never come, at most.' }),
    }),
    audit: z
      .object({
        audited_at: isoSchema.meta({ description: 'Of the newest comparison.' }),
        rows: rowsSchema.meta({ description: 'What the gateway has, by the last comparison of each day.' }),
        confirmed: rowsSchema.meta({ description: 'Of these, in days without a difference.' }),
        missing: z.number().int().meta({ description: 'Groups that lacked rows and are sent again.', example: 0 }),
        extra: z.number().int().meta({ description: 'Rows that are here and not at the gateway.', example: 0 }),
        summary: z.string().meta({ description: 'The same in words.', example: '306,179 of 306,179' }),
      })
      .nullable()
      .meta({ description: 'What was compared row by row; null before the first time.' }),
    clock: z.object({
      offset_ms: z.number().int().nullable().meta({
        description: 'How far its clock is ahead of that of the hub, as its last report says.',
        example: 12,
      }),
      is_trusted: z.boolean().nullable().meta({ description: 'Whether the gateway believes its own clock.' }),
    }),
    program: z
      .string()
      .nullable()
      .meta({ description: 'The program and version of its gateway.', example: 'cartbarn 1.0.0' }),
    epochs: z
      .array(
        z.object({
          epoch: z
            .string()
            .meta({ description: 'One life of a database.', example: '0f0e0d0c0b0a09080706050403020100' }),
          forked_from: z
            .string()
            .nullable()
            .meta({ description: 'The epoch it went on from after a restore, or beside another gateway.' }),
          reason: z
            .string()
            .nullable()
            .meta({ description: 'Why it began, for people.', example: 'restored from a backup' }),
          first_seen: isoSchema,
          last_seen: isoSchema,
        }),
      )
      .meta({ description: 'Newest first.' }),
    keys: z.number().int().meta({ description: 'Keys that are good now.', example: 1 }),
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
      note_id: z.string().meta({ description: 'Unique in the site.' }),
      stream: z.string().meta({ description: 'gps or battery.', example: 'gps' }),
      from: isoSchema.meta({ description: 'Of the oldest record that is missing.' }),
      to: isoSchema.meta({ description: 'Of the newest.' }),
      rows: rowsSchema.meta({ description: 'Records, at most.' }),
      reason: z.string().meta({ description: 'purge, disk or damage.', example: 'disk' }),
      recorded_at: isoSchema.meta({ description: 'When they were dropped.' }),
    }),
  ),
  pagination: paginationSchema,
})

const quarantineEntrySchema = z
  .object({
    quarantine_id: z.string().meta({ description: 'Unique in the site.' }),
    epoch: z.string().meta({ description: 'Of the gateway that sent it.' }),
    stream: z.string().meta({ description: 'Of what it is a part.', example: 'telemetry' }),
    from: z.number().int().meta({ description: 'Position behind which it begins.', example: 4711 }),
    to: z.number().int().meta({ description: 'Its last position.', example: 4811 }),
    reason: z.string().meta({ description: 'Why it could not be applied, for people.' }),
    bytes: z.number().int().meta({ description: 'Of what was sent.', example: 2048 }),
    received_at: isoSchema,
  })
  .meta({ id: 'QuarantineEntry' })

export const quarantineListSchema = z.object({
  entries: z.array(quarantineEntrySchema).meta({ description: 'Newest first.' }),
  pagination: paginationSchema,
})
export const quarantineParams = siteParams.extend({ id: z.string().meta({ description: 'quarantine_id' }) })

/** Which of what is kept aside is deleted: up to a time that `description` names. */
function throughQuery(description: string) {
  return z.object({ through: dateParam.meta({ description, example: '2026-05-01T08:30:00.000Z' }) })
}

export const clearQuarantineQuerySchema = throughQuery('Up to this time of the head office.')
export const clearedQuarantineSchema = z
  .object({
    success: z.literal(true).meta({ description: 'Always true.' }),
    cleared: z.number().int().meta({ description: 'Pieces that are gone.', example: 1 }),
  })
  .meta({ id: 'ClearedQuarantine' })

const erasedItemSchema = z
  .object({
    hardware_id: hardwareIdSchema,
    what: z
      .enum(['device', 'gps', 'battery'])
      .meta({ description: 'The device in the lists, or its history of this kind.', example: 'gps' }),
    records: z.number().int().meta({ description: 'Records of the history; 0 for a device.', example: 20_411 }),
    bytes: z.number().int().meta({ description: 'What it takes in the database.', example: 131_072 }),
    erased_at: isoSchema.meta({ description: 'By the clock of the head office.' }),
    deleted_at: isoSchema.meta({ description: 'From then on it is deleted for good.' }),
  })
  .meta({ id: 'ErasedItem' })

export const erasedListSchema = z.object({
  erased: z.array(erasedItemSchema).meta({ description: 'Newest first unless order says otherwise.' }),
  pagination: paginationSchema,
})

export const restoreErasedSchema = z
  .strictObject({
    since: dateParam.meta({
      description: 'What was erased at this time of the head office or later.',
      example: '2026-05-01T08:30:00.000Z',
    }),
    hardware_ids: z
      .array(hardwareIdSchema)
      .min(1)
      .max(1000)
      .optional()
      .meta({ description: 'Only of these devices; without it of all.', example: ['cart-07'] }),
  })
  .meta({ id: 'RestoreErased' })
export const restoredErasedSchema = z
  .object({
    success: z.literal(true).meta({ description: 'Always true.' }),
    devices: z.number().int().meta({ description: 'Devices that are in the lists again.', example: 1 }),
    records: z.number().int().meta({ description: 'Records that were put back.', example: 20_411 }),
  })
  .meta({ id: 'RestoredErased' })

export const deleteErasedQuerySchema = throughQuery('Up to this erased_at.')
export const deletedErasedSchema = z
  .object({
    success: z.literal(true).meta({ description: 'Always true.' }),
    deleted: z.number().int().meta({ description: 'Blocks and devices that are gone.', example: 12 }),
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
    .meta({ description: 'Only of these sites; repeated or comma-separated.', example: ['north'] }),
})
export const hubDeviceListSchema = z
  .object({
    devices: z.array(deviceSchema.extend({ site_id: siteIdSchema })),
    pagination: deviceListSchema.shape.pagination,
  })
  .meta({ id: 'HubDeviceList' })

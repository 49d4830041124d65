import { z } from 'zod'
import { geofenceIdParam, zoneTypeSchema } from './geofences.ts'
import {
  dateParam,
  eventPageQuery,
  hardwareIdSchema,
  isoSchema,
  paginationSchema,
  removedSchema,
} from './schema/params.ts'

export const geofenceEventKindSchema = z.enum(['enter', 'exit'])
export type GeofenceEventKind = z.infer<typeof geofenceEventKindSchema>

const geofenceEventSchema = z
  .object({
    event_id: z.string().meta({ description: 'Made of what makes the event, so it never changes.' }),
    hardware_id: hardwareIdSchema,
    event: geofenceEventKindSchema.meta({ description: 'Which way it went.' }),
    group_id: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'The group whose own zone it is; null for one of the site.', example: 42 }),
    zone_id: z.string().meta({ description: 'The id of the zone.', example: 'green-7' }),
    zone_name: z.string().meta({ description: 'What the zone was called then.', example: 'Green 7' }),
    zone_type: zoneTypeSchema.meta({ description: 'What kind of zone it was then.' }),
    timestamp: isoSchema.meta({
      description: 'When the device passed the edge. ISO 8601, UTC, milliseconds.',
    }),
    lat: z.number().meta({ description: 'Degrees; where it was then.', example: 28.41 }),
    long: z.number().meta({ description: 'Degrees.', example: -81.58 }),
    device_removed: removedSchema,
  })
  .meta({ id: 'GeofenceEvent' })

export type GeofenceEventJson = z.infer<typeof geofenceEventSchema>

export const geofenceEventListSchema = z.object({
  events: z.array(geofenceEventSchema),
  pagination: paginationSchema,
})

export const geofenceEventQuerySchema = eventPageQuery('event_id').extend({
  hardware_id: z.string().optional().meta({
    description: 'Only of this device, since it was registered; of a deleted device, all that are kept.',
  }),
  group_id: geofenceIdParam.optional().meta({ description: 'Of zones of this group only.' }),
  zone_id: z.string().optional().meta({ description: 'Of the zones with this id only, in every group.' }),
  zone_type: zoneTypeSchema.optional().meta({ description: 'Of zones of this kind only.' }),
  event: geofenceEventKindSchema.optional().meta({ description: 'Only entering or only leaving.' }),
  from: dateParam.optional().meta({ description: 'ISO 8601; included.' }),
  to: dateParam.optional().meta({ description: 'ISO 8601; included.' }),
})

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
    event_id: z.string().meta({ description: 'Id of the event, derived from its content, so it never changes.' }),
    hardware_id: hardwareIdSchema,
    event: geofenceEventKindSchema.meta({ description: 'Direction: enter or exit.' }),
    group_id: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'Group whose own zone it is; null for a zone of the site.', example: 42 }),
    zone_id: z.string().meta({ description: 'Id of the zone.', example: 'green-7' }),
    zone_name: z.string().meta({ description: 'Name of the zone at that time.', example: 'Green 7' }),
    zone_type: zoneTypeSchema.meta({ description: 'Type of the zone at that time.' }),
    timestamp: isoSchema.meta({
      description: 'Time at which the device crossed the edge. ISO 8601, UTC, milliseconds.',
    }),
    lat: z.number().meta({ description: 'Latitude in degrees, at that time.', example: 28.41 }),
    long: z.number().meta({ description: 'Longitude in degrees, at that time.', example: -81.58 }),
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
    description: 'Filter by device, since its registration; for a deleted device, everything that is kept.',
  }),
  group_id: geofenceIdParam.optional().meta({ description: 'Filter by group of the zone.' }),
  zone_id: z.string().optional().meta({ description: 'Filter by zone id, across all groups.' }),
  zone_type: zoneTypeSchema.optional().meta({ description: 'Filter by type of the zone.' }),
  event: geofenceEventKindSchema.optional().meta({ description: 'Filter by direction.' }),
  from: dateParam.optional().meta({ description: 'Start of the range, inclusive. ISO 8601.' }),
  to: dateParam.optional().meta({ description: 'End of the range, inclusive. ISO 8601.' }),
})

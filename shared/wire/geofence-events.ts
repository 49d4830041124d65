import { z } from 'zod'
import { geofenceIdParam, zoneTypeSchema } from './geofences.ts'
import { dateParam, isoSchema, offsetParam, pageLimitParam, paginationSchema } from './params.ts'

export const geofenceEventKindSchema = z.enum(['enter', 'exit'])
export type GeofenceEventKind = z.infer<typeof geofenceEventKindSchema>

const geofenceEventSchema = z.object({
  event_id: z.string(),
  hardware_id: z.string().meta({ example: 'cart-1' }),
  event: geofenceEventKindSchema,
  group_id: z.number().int().meta({ description: 'The group the device was in.', example: 42 }),
  zone_id: z.string().meta({ example: 'g1' }),
  zone_name: z.string().meta({ description: 'What the zone was called then.', example: 'Green 7' }),
  zone_type: zoneTypeSchema,
  timestamp: isoSchema.meta({ description: 'When the device passed the edge. ISO 8601, UTC, milliseconds.' }),
  lat: z.number().meta({ description: 'Degrees; where it was then.', example: 28.41 }),
  long: z.number().meta({ description: 'Degrees.', example: -81.58 }),
})

export type GeofenceEventJson = z.infer<typeof geofenceEventSchema>

export const geofenceEventListSchema = z.object({
  events: z.array(geofenceEventSchema),
  pagination: paginationSchema,
})

export const geofenceEventQuerySchema = z.object({
  hardware_id: z.string().optional().meta({ description: 'Of this device only.' }),
  group_id: geofenceIdParam.optional().meta({ description: 'Of zones of this group only.' }),
  zone_id: z.string().optional().meta({ description: 'Of the zones with this id only, in every group.' }),
  zone_type: zoneTypeSchema.optional(),
  event: geofenceEventKindSchema.optional(),
  from: dateParam.optional().meta({ description: 'ISO 8601; included.' }),
  to: dateParam.optional().meta({ description: 'ISO 8601; included.' }),
  limit: pageLimitParam,
  offset: offsetParam,
})

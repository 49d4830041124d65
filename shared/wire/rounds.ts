import { z } from 'zod'
import { currentHole, minutesBehind } from '#shared/rounds/pace.ts'
import type { CartRound } from '#shared/rounds/round.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { dateParam, isoSchema, listQuery, pageQuery, paginationSchema } from './schema/params.ts'

const holeSchema = z.number().int().meta({ description: 'The number of the hole.', example: 7 })

const roundHoleSchema = z.object({
  hole: holeSchema,
  entered_at: isoSchema,
  left_at: isoSchema.nullable().meta({ description: 'null while it is played.' }),
})

export const roundSchema = z
  .object({
    round_id: z.string().meta({
      description: 'Stays the same while the round goes on.',
      example: 'cart-07-mfk0q2t4',
    }),
    cart: z.string().meta({ description: 'As in GET /carts.', example: '17' }),
    started_at: isoSchema.meta({
      description: 'When it left parking, or was first seen outside.',
    }),
    ended_at: isoSchema.nullable().meta({ description: 'When it was back; null while it goes on.' }),
    start_hole: holeSchema,
    holes: z.array(roundHoleSchema).meta({
      description:
        'Holes that were played, by entered_at; one that was left and entered again soon is one. Crossing a hole ' +
        'is not playing it.',
    }),
    current_hole: holeSchema.nullable().meta({ description: 'null when it is on none.' }),
    minutes_behind: z
      .number()
      .nullable()
      .meta({
        description:
          'Minutes since the first hole was entered, less minutes_per_hole of the site for each hole left; below 0 ' +
          'for one that is ahead, null when it is on no hole.',
        example: 12.5,
      }),
    distance: z.number().meta({ description: 'Metres, so far.', example: 6420 }),
    duration: z.number().int().meta({ description: 'Seconds, so far.', example: 9240 }),
  })
  .meta({ id: 'Round' })
export type RoundJson = z.infer<typeof roundSchema>

export const activeRoundsSchema = z
  .object({ rounds: z.array(roundSchema).meta({ description: 'By started_at.' }) })
  .meta({ id: 'ActiveRounds' })

export const roundListSchema = z
  .object({
    rounds: z.array(roundSchema).meta({ description: 'By started_at.' }),
    pagination: paginationSchema,
    warnings: z
      .array(z.string())
      .optional()
      .meta({ description: 'What may be missing, because it lies in damaged blocks.' }),
  })
  .meta({ id: 'RoundList' })

const ORDER = 'By started_at: asc is oldest first, desc newest first.'

export const activeRoundQuerySchema = listQuery('asc', ORDER)

export const roundQuerySchema = pageQuery('asc', ORDER).extend({
  from: dateParam.meta({ description: 'Rounds that began then or later; ISO 8601.' }),
  to: dateParam.meta({ description: 'Rounds that began then or earlier; up to 31 days after from.' }),
  cart: z.string().optional().meta({ description: 'Only of this cart.', example: '17' }),
})

/** What of a round is another each time it is asked for. */
export function toPaceJson({ round }: CartRound, minutesPerHole: number, nowMs: number) {
  const behind = minutesBehind(round, minutesPerHole, nowMs)
  return {
    minutes_behind: behind === null ? null : Math.round(behind * 10) / 10,
    distance: Math.round(round.distanceM * 10) / 10,
    duration: Math.max(0, Math.round(((round.endedMs ?? nowMs) - round.startedMs) / 1000)),
  }
}

/** What stays the same until a hole is entered or left. */
export function toHolesJson({ cart, round }: CartRound) {
  const [first] = round.holes
  return {
    round_id: round.id,
    cart,
    started_at: toIso(round.startedMs),
    ended_at: isoOrNull(round.endedMs),
    start_hole: first?.hole ?? 0,
    holes: round.holes.map(({ hole, enteredMs, leftMs }) => ({
      hole,
      entered_at: toIso(enteredMs),
      left_at: isoOrNull(leftMs),
    })),
    current_hole: currentHole(round)?.hole ?? null,
  }
}

/** A round as every list shows it. */
export function toRoundJson(round: CartRound, minutesPerHole: number, nowMs: number): RoundJson {
  return { ...toHolesJson(round), ...toPaceJson(round, minutesPerHole, nowMs) }
}

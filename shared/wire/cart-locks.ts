import { z } from 'zod'
import { newCommandSchema } from './commands.ts'

const MAX_CARTS = 500

const namesSchema = z.array(z.string().min(1).max(128)).min(1).max(MAX_CARTS)

/** Which carts are to be locked in the barn. */
export const newCartLocksSchema = z.strictObject({
  carts: z.union([z.literal('in'), namesSchema], { error: `must be "in", or 1 to ${MAX_CARTS} carts` }).meta({
    description: 'Carts by name, each counted once; or in: all in a parking zone that are in service and not locked.',
    example: 'in',
  }),
  metadata: newCommandSchema.shape.metadata,
})

const cartNameSchema = z.string().meta({ description: 'The cart.', example: '17' })

export const cartLocksSchema = z.object({
  results: z
    .array(
      z.union([
        z.object({
          cart: cartNameSchema,
          command_id: z.string().meta({ description: 'The lock that was made for it.' }),
        }),
        z.object({
          cart: cartNameSchema,
          code: z.string().meta({
            description:
              'Why it is not locked: cart_not_found, cart_forbidden, on_course, unsupported_command or cart_is_moving.',
            example: 'on_course',
          }),
        }),
      ]),
    )
    .meta({ description: 'In the order of the request, or of GET /carts.' }),
})

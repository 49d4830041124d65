import { z } from 'zod'
import { newCommandSchema } from './commands.ts'

const MAX_CARTS = 500

const namesSchema = z.array(z.string().min(1).max(128)).min(1).max(MAX_CARTS)

/** Carts to be locked in the barn. */
export const newCartLocksSchema = z.strictObject({
  carts: z.union([z.literal('in'), namesSchema], { error: `must be "in", or 1 to ${MAX_CARTS} carts` }).meta({
    description:
      'Carts by name, duplicates count once; or "in": all carts in a parking zone that are in service and not locked.',
    example: 'in',
  }),
  metadata: newCommandSchema.shape.metadata,
})

const cartNameSchema = z.string().meta({ description: 'Name of the cart.', example: '17' })

export const cartLocksSchema = z.object({
  results: z
    .array(
      z.union([
        z.object({
          cart: cartNameSchema,
          command_id: z.string().meta({ description: 'Id of the lock command.' }),
        }),
        z.object({
          cart: cartNameSchema,
          code: z.string().meta({
            description:
              'Reason for which the cart is not locked: cart_not_found, cart_forbidden, on_course, ' +
              'unsupported_command or cart_is_moving.',
            example: 'on_course',
          }),
        }),
      ]),
    )
    .meta({ description: 'Results in the order of the request, or of GET /carts.' }),
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceTypePutSchema } from '#shared/wire/device-types.ts'
import { validate } from '#shared/wire/schema/object-schema.ts'
import { deviceTypes } from './all.ts'
import { FETCH_GEOFENCES_NAME } from './commands.ts'

test('every device type has a name of its own', () => {
  const names = deviceTypes.map(({ name }) => name)
  assert.deepEqual([...new Set(names)], names)
})

for (const type of deviceTypes) {
  const { name, description, defaults, configSchema, commands, downloadsZones } = type

  test(`${name} is a type that the API would take, too`, () => {
    const put = deviceTypePutSchema.safeParse({
      description,
      defaults,
      config_schema: configSchema,
      commands: Object.fromEntries(
        Object.entries(commands).map(([command, { ttlS, params }]) => [
          command,
          { ttl_seconds: ttlS, params_schema: params },
        ]),
      ),
    })
    assert.equal(put.error, undefined)
    assert.deepEqual(validate(configSchema, defaults), [])
  })

  test(`${name} obeys ${FETCH_GEOFENCES_NAME} if, and only if, it downloads its zones`, () => {
    assert.equal(Object.hasOwn(commands, FETCH_GEOFENCES_NAME), downloadsZones)
  })
}

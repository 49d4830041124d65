import { ADMIN_KEY, type TestGateway } from './start-gateway.ts'

/** Callers that an endpoint must distinguish. */
export type Who = 'nobody' | 'a bad key' | 'a disabled user' | 'in scope' | 'out of scope' | 'no scope' | 'admin'

type Refusal = [who: Who, status: number, code: string]

const NOT_LET_IN: Refusal[] = [
  ['nobody', 401, 'missing_api_key'],
  ['a bad key', 401, 'invalid_api_key'],
  ['a disabled user', 401, 'user_inactive'],
]

/** Callers rejected by endpoints for admins. */
export const REFUSED_AS_NO_ADMIN: Refusal[] = [
  ...NOT_LET_IN,
  ['in scope', 403, 'admin_required'],
  ['no scope', 403, 'admin_required'],
]

/** Callers rejected by endpoints for staff and admins. */
export const REFUSED_AS_NO_STAFF: Refusal[] = [
  ...NOT_LET_IN,
  ['in scope', 403, 'staff_required'],
  ['no scope', 403, 'staff_required'],
]

/** Callers rejected by the endpoints of one device. */
export const REFUSED_OUTSIDE_SCOPE: Refusal[] = [
  ...NOT_LET_IN,
  ['out of scope', 403, 'device_forbidden'],
  ['no scope', 403, 'device_forbidden'],
]

/** Callers rejected by endpoints that need any valid key. */
export const REFUSED_WITHOUT_KEY: Refusal[] = NOT_LET_IN

/** Creates a user of each kind; `inScope` lists the devices of the one in scope. Returns the key of each. */
export async function createCallers(
  gateway: TestGateway,
  inScope: readonly string[],
): Promise<Record<Who, string | null>> {
  const disabled = await gateway.createUser({ name: 'Disabled', allowed_hardware_ids: inScope })
  await gateway.request('PATCH', `/users/${disabled.userId}`, { body: { is_active: false } })
  const keyOf = async (name: string, ids: readonly string[] | null) =>
    (await gateway.createUser({ name, allowed_hardware_ids: ids })).key
  return {
    nobody: null,
    'a bad key': 'flt_this_key_opens_nothing_at_all',
    'a disabled user': disabled.key,
    'in scope': await keyOf('In scope', inScope),
    'out of scope': await keyOf('Out of scope', ['some-other-cart']),
    'no scope': await keyOf('No scope', null),
    admin: ADMIN_KEY,
  }
}

import { moreTexts } from '#dashboard/texts/more.ts'
import { peopleTexts } from '#dashboard/texts/people.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { ButtonLink } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Panes } from '#dashboard/ui/lists/panes.tsx'
import { Table } from '#dashboard/ui/lists/table.tsx'
import type { UserJson } from '#shared/wire/users.ts'
import { AdminList } from './admin-list.tsx'
import { NewPerson, PersonPanel } from './person-panel.tsx'
import { useAdminList } from './use-admin-list.ts'

const RELOAD_EVERY_MS = 4_000

/** Users, also those who sign in on a shared tablet with a PIN: the list, and next to it one of them or a new one. */
export function PeoplePage() {
  const { api, router } = useDashboard()
  const [, id] = (router.route.value.rest ?? '').split('/')
  const list = useAdminList(() => api.call('GET /users'), RELOAD_EVERY_MS)
  const done = async () => {
    location.hash = router.beside('people')
    await list.again()
  }
  return (
    <AdminList of={list}>
      {(users) => {
        const user = users.find(({ user_id }) => user_id === id)
        const one =
          user === undefined ? <p>{peopleTexts().gone}</p> : <PersonPanel key={id} user={user} onDone={done} />
        const chosen = (
          <div class="stack">
            <p>
              <ButtonLink text={peopleTexts().back} href={router.beside('people')} />
            </p>
            {id === 'new' ? <NewPerson onChange={list.again} /> : one}
          </div>
        )
        return <Panes list={<People users={users} chosen={id ?? null} />} chosen={id === undefined ? null : chosen} />
      }}
    </AdminList>
  )
}

function People({ users, chosen }: { users: readonly UserJson[]; chosen: string | null }) {
  const { router } = useDashboard()
  const texts = tabletTexts()
  const { roles, acts } = moreTexts()
  const pinOf = ({ role, has_pin }: UserJson) => (role === 'metrics' ? '' : has_pin ? texts.hasPin : texts.noPin)
  const stateOf = ({ is_active }: UserJson) => (is_active ? '' : texts.off)
  const by = (of: (user: UserJson) => string) => (a: UserJson, b: UserJson) => of(a).localeCompare(of(b))
  return (
    <div class="filling">
      <div class="row">
        <p class="grow">{peopleTexts().why}</p>
        <ButtonLink text={texts.newPerson} is="main" href={router.beside('people/new')} />
      </div>
      <Table
        label={texts.people}
        items={users}
        chosen={chosen}
        keyOf={({ user_id }) => user_id}
        columns={[
          {
            key: 'name',
            title: texts.name,
            compare: by(({ name }) => name),
            cell: ({ user_id, name }) => (
              <a class="cart-name cut" dir="auto" href={router.beside(`people/${user_id}`)}>
                <strong>{name}</strong>
              </a>
            ),
          },
          { key: 'role', title: texts.role, compare: by(({ role }) => roles[role]), cell: ({ role }) => roles[role] },
          { key: 'pin', title: acts, compare: by(pinOf), cell: pinOf },
          { key: 'state', title: moreTexts().state, is: 'wide', compare: by(stateOf), cell: stateOf },
        ]}
      />
    </div>
  )
}

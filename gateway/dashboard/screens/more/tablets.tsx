import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { AdminList } from './admin-list.tsx'
import { PairTablet } from './pair-tablet.tsx'
import { SignedInTablets } from './signed-in-tablets.tsx'
import type { Tablets } from './tablet-list.ts'
import { useAdminList } from './use-admin-list.ts'
import { WaitingTablets } from './waiting-tablets.tsx'

const RELOAD_EVERY_MS = 4_000

/** Tablets page: signed-in tablets, requests for access, and a code for a new tablet. */
export function TabletsPage() {
  const { api } = useDashboard()
  const load = async (): Promise<Tablets> => {
    const [users, sessions, requests] = await Promise.all([
      api.call('GET /users'),
      api.call('GET /sessions'),
      api.call('GET /access-requests'),
    ])
    return { users, sessions, requests }
  }
  const list = useAdminList(load, RELOAD_EVERY_MS)
  return (
    <>
      <p>{tabletTexts().why}</p>
      <AdminList of={list}>
        {(tablets) => (
          <>
            <WaitingTablets tablets={tablets} onChange={list.again} />
            <PairTablet tablets={tablets} />
            <SignedInTablets tablets={tablets} onChange={list.again} />
          </>
        )}
      </AdminList>
    </>
  )
}

#!/bin/sh
# Slurm, munge and a database from the distribution, where they are missing; no service is started.
set -eu
missing=
for command in slurmctld slurmd munged slurmdbd mariadbd mariadb-install-db my_print_defaults; do
    command -v "$command" > /dev/null || missing="$missing $command"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
    echo "error: make test-cluster needs root: it installs$missing, writes /etc/slurm and starts daemons; use a container" >&2
    exit 1
fi
if ! command -v apt-get > /dev/null; then
    echo "error: not found:$missing; install Slurm (with slurmdbd), munge and MariaDB, then run make test-cluster again" >&2
    exit 1
fi
# Debian starts a service as soon as it is installed, unless this says no.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
fi
# mariadb-install-db asks my_print_defaults, which newer releases have among the clients.
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends slurm-wlm slurmdbd munge \
    mariadb-server-core mariadb-client-core
